-- `best-of-n`: the same task for several workers; judges, each of whom sees all of it, vote for one.
-- `first-of-n`: the first that is done, and the others are stopped.
-- Try it: fleetd run start best-of-n --wait --job '{"task": "make the parser twice as fast", "n": 3}'

local ROLES = { "w-one", "w-other" }
-- As many as both roles have busy at once: nobody does the task a second time in the same worktree.
local MOST = 6

fleet.shape("best-attempt", { done = "boolean", summary = "string" })
fleet.shape("best-choice", { best = "integer", because = "string" })

local function candidates(n)
  local list = {}
  for place = 1, n do
    list[place] = ROLES[(place - 1) % #ROLES + 1]
  end
  return list
end

-- Returns what is wrong with a job, before anybody is paid for it.
local function wrong(n, judges)
  if n < 1 or n > MOST then
    return ("`n` is %d, and may be 1 to %d"):format(n, MOST)
  end
  if judges < 1 or judges > 9 then
    return ("`judges` is %d, and may be 1 to 9"):format(judges)
  end
end

-- Returns the reply if the task is done by it, else why it is not: the first words are not the first work.
local function attempt(run, job, role)
  local reply = run:send({
    to = role,
    prompt = job.task
      .. "\n\nWhere you work on a branch of your own, commit all of it. Then say whether it is `done` and can be used as it is, with a `summary`.",
    schema = "best-attempt",
    timeout = "40m",
    retries = 1,
  })
  if not reply.ok then
    return reply
  end
  local why = reply.truncated and "it said more than 1 MiB"
    or not reply.data.done and reply.data.summary
    or reply.work and reply.work.commits == 0 and "it committed nothing"
  return why and { ok = false, error = "not done", why = why, turn = reply.turn } or reply
end

local function shown(reply)
  return {
    worker = reply.from.worker,
    launcher = reply.from.launcher,
    summary = reply.data.summary,
    work = reply.work,
  }
end

-- Returns the vote of several judges, and what each of them said.
local function judged(run, job, found, judges)
  local told, places, said = {}, {}, {}
  for n, reply in ipairs(found) do
    local branch = reply.work and reply.work.branch and (", on branch " .. reply.work.branch) or ""
    told[n] = ("Number %d%s:\n%s"):format(n, branch, run:quote(reply.data.summary, { most = 60000 }))
  end
  for n = 1, judges do
    places[n] = n
  end
  local prompt = "The task was:\n"
    .. run:quote(job.task, { most = 500000 })
    .. "\nWhich of these is done best?\n"
    .. table.concat(told, "\n")
  local vote = run:vote(places, function()
    local reply =
      run:send({ to = "w-best-judge", prompt = prompt, schema = "best-choice", timeout = "15m", retries = 1 })
    if reply.ok and not reply.truncated and found[reply.data.best] then
      table.insert(said, reply.data)
      return reply.data.best
    end
  end)
  return vote, said
end

fleet.recipe("best-of-n", {
  about = "Has a task done several times and chooses the best.",
  input = { task = "string", n = "integer?", judges = "integer?" },
  deadline = "2h",
  budget = { turns = 60 },
}, function(job, run)
  local n, judges = job.n or 3, job.judges or 3
  local why = wrong(n, judges)
  if why then
    return run:fail(why)
  end
  local found, missing = run:split(run:each(candidates(n), function(role)
    return attempt(run, job, role)
  end))
  if #found == 0 then
    return run:fail("nobody did it", { missing = missing })
  end
  if #found == 1 then
    local value = { best = shown(found[1]), others = {}, missing = missing, said = {} }
    return n == 1 and value or run:partial(value, "there was nothing to choose from")
  end
  local vote, said = judged(run, job, found, judges)
  local value = { others = {}, missing = missing, said = said }
  for place, reply in ipairs(found) do
    if vote.decided and place == vote.value then
      value.best = shown(reply)
    else
      table.insert(value.others, shown(reply))
    end
  end
  if not vote.decided then
    return run:partial(value, "the judges did not agree: " .. vote.why)
  end
  return value
end)

fleet.recipe("first-of-n", {
  about = "Has a task done several times and takes the first that is done; the others are stopped.",
  input = { task = "string", n = "integer?" },
  deadline = "1h",
  budget = { turns = 30 },
}, function(job, run)
  local n = job.n or 3
  local why = wrong(n, 1)
  if why then
    return run:fail(why)
  end
  local reply, _, missing = run:race(candidates(n), function(role)
    return attempt(run, job, role)
  end)
  if not reply then
    return run:fail("nobody did it", { missing = missing })
  end
  return shown(reply)
end)
