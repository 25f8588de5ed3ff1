-- `best-of-n`: the same task for several workers; judges, each of whom sees all of it, vote for one.
-- `first-of-n`: the first good answer, and the others are stopped.
-- Try it: fleetd run start best-of-n --wait --job '{"task": "make the parser twice as fast", "n": 3}'

local ROLES = { "w-one", "w-other" }

fleet.shape("choice", { best = "integer", because = "string" })

local function candidates(job)
  local list = {}
  for n = 1, math.max(1, math.min(job.n or 3, 9)) do
    list[n] = ROLES[(n - 1) % #ROLES + 1]
  end
  return list
end

local function attempt(run, job, role)
  return run:send({ to = role, prompt = job.task, deadline = "40m", retries = 1 })
end

local function shown(reply)
  return { worker = reply.from.worker, launcher = reply.from.launcher, text = reply.text, work = reply.work }
end

fleet.recipe("best-of-n", {
  about = "Has a task done several times and chooses the best.",
  input = { task = "string", n = "integer?", judges = "integer?" },
  deadline = "2h",
  budget = { turns = 60 },
}, function(job, run)
  local found, missing = run:split(run:each(candidates(job), function(role)
    return attempt(run, job, role)
  end))
  if #found == 0 then
    return run:fail("nobody did it", { missing = missing })
  end
  if #found == 1 then
    return run:partial({ best = shown(found[1]), missing = missing }, "there was nothing to choose from")
  end
  local told = {}
  for n, reply in ipairs(found) do
    told[n] = ("Number %d%s:\n%s"):format(
      n,
      reply.work and (", on branch " .. reply.work.branch) or "",
      run:quote(reply)
    )
  end
  local judges = {}
  for n = 1, job.judges or 3 do
    judges[n] = n
  end
  local vote = run:vote(judges, function()
    local reply = run:send({
      to = "w-judge",
      prompt = "The task was:\n" .. run:quote(job.task) .. "\nWhich of these is done best?\n" .. table.concat(
        told,
        "\n"
      ),
      schema = "choice",
      deadline = "15m",
    })
    if reply.ok and found[reply.data.best] then
      return reply.data.best
    end
  end)
  local others = {}
  for n, reply in ipairs(found) do
    if not vote.decided or n ~= vote.value then
      table.insert(others, shown(reply))
    end
  end
  if not vote.decided then
    return run:partial({ others = others, missing = missing }, "the judges did not agree: " .. vote.why)
  end
  return { best = shown(found[vote.value]), others = others, missing = missing }
end)

fleet.recipe("first-of-n", {
  about = "Has a task done several times and takes the first that is done; the others are stopped.",
  input = { task = "string", n = "integer?" },
  deadline = "1h",
  budget = { turns = 30 },
}, function(job, run)
  local reply, _, missing = run:race(candidates(job), function(role)
    return attempt(run, job, role)
  end)
  if not reply then
    return run:fail("nobody did it", { missing = missing })
  end
  return shown(reply)
end)
