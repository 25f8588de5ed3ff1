-- Splits a goal into parts, has each implemented in a worktree and reviewed by somebody else, and proposes in which order
-- the branches are merged. What a review sends back is mended once, by the worker who knows it if that one is still there.
-- Try it: fleetd run start implement --wait --job '{"goal": "a --json flag for every command"}'

fleet.shape("part", { title = "string", task = "string" })
fleet.shape("review", { good = "boolean", complaint = "string" })

local function implement(run, part)
  return run:send({
    to = "w-coder",
    prompt = "Implement this part, with tests, in small commits on your branch. Commit everything. Ask if something is not said.\n"
      .. run:quote(part),
    timeout = "40m",
    retries = 1,
  })
end

local function branch_of(reply)
  return reply.work and reply.work.branch or "not known"
end

local function review(run, part, reply)
  return run:send({
    to = "w-reviewer",
    kind = "review",
    prompt = "Review what was done for this part. Its branch: "
      .. branch_of(reply)
      .. "\n"
      .. run:quote(part)
      .. "\nWhat its author says:\n"
      .. run:quote(reply),
    schema = "review",
    timeout = "15m",
    retries = 1,
  })
end

local function mend(run, part, reply, complaint)
  -- The same worker: it has the tree, and knows what it did.
  local mended = run:send({
    to = reply.from.worker,
    prompt = "A reviewer sends your work back. Mend it, and commit.\n" .. run:quote(complaint),
    timeout = "30m",
  })
  if mended.error ~= "lost" then
    return mended
  end
  -- It went while its work was reviewed, or at this: another one has to be told everything.
  return run:send({
    to = "w-coder",
    prompt = "Somebody else implemented this part, and a reviewer sends it back. Begin with their branch: merge it into yours, mend it, with tests, and commit everything. Their branch: "
      .. branch_of(reply)
      .. "\n"
      .. run:quote(part)
      .. "\nWhat the reviewer says:\n"
      .. run:quote(complaint),
    timeout = "40m",
    retries = 1,
  })
end

-- Returns what became of one part: who made it, on which branch, and what the reviewer said last.
local function carry_out(run, part)
  local reply = implement(run, part)
  if not reply.ok then
    return reply
  end
  local said = review(run, part, reply)
  if said.ok and not said.data.good then
    local mended = mend(run, part, reply, said.data.complaint)
    if mended.ok then
      reply = mended
      said = review(run, part, reply)
    end
  end
  return {
    title = part.title,
    worker = reply.from.worker,
    work = reply.work,
    good = said.ok and said.data.good,
    said = said.ok and said.data.complaint or ("not reviewed: " .. (said.why or said.error)),
  }
end

fleet.recipe("implement", {
  about = "Splits a goal, implements the parts in worktrees, reviews them, and proposes an order of merging.",
  input = { goal = "string", most = "integer?" },
  deadline = "3h",
  budget = { turns = 100 },
}, function(job, run)
  local most = job.most or 5
  if most < 1 then
    return run:fail(("'most' is %d: at least one part has to be allowed"):format(most))
  end
  local plan = run:send({
    to = "w-planner",
    kind = "plan",
    prompt = "Split this goal into parts that can be implemented at the same time, by people who do not talk to each other; at most "
      .. most
      .. ". In the order in which they should be merged.\n"
      .. run:quote(job.goal),
    schema = "part[]",
    timeout = "15m",
    retries = 1,
  })
  if not plan.ok then
    return run:fail("there is no plan: " .. (plan.why or plan.error))
  end
  local parts, not_begun = {}, {}
  for n, part in ipairs(plan.data) do
    table.insert(n <= most and parts or not_begun, part)
  end
  run:progress("%d parts", #parts)
  local done, missing = run:split(run:each(parts, function(part)
    return carry_out(run, part)
  end))
  local proposal, refused = {}, {}
  for _, one in ipairs(done) do
    if one.good then
      one.order = #proposal + 1
      table.insert(proposal, one)
    else
      table.insert(refused, one)
    end
  end
  local value = { proposal = proposal, refused = refused, missing = missing, not_begun = not_begun }
  if #proposal == 0 then
    return run:fail("no part was implemented and found good", value)
  end
  if #missing + #refused + #not_begun > 0 then
    local why = "%d parts are missing, %d were refused, %d were not begun"
    return run:partial(value, why:format(#missing, #refused, #not_begun))
  end
  return value
end)
