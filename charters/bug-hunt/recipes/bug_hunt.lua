-- Searches parts of a repository for bugs, and has every find doubted: what two of three others can show counts.
-- Try it: fleetd run start bug-hunt --wait --job '{"parts": ["src/a.rs", "src/b.rs"]}'

fleet.shape("finding", { file = "string", line = "integer?", why = "string", proof = "string" })
fleet.shape("opinion", { real = "boolean", because = "string" })

local function key(finding)
  return finding.file .. ":" .. tostring(finding.line or 0)
end

-- What was found twice is one find.
local function distinct(found, most)
  local findings, seen = {}, {}
  for _, reply in ipairs(found) do
    for _, finding in ipairs(reply.data) do
      if not seen[key(finding)] and #findings < most then
        seen[key(finding)] = true
        table.insert(findings, finding)
      end
    end
  end
  return findings
end

fleet.recipe("bug-hunt", {
  about = "Searches parts of a repository for bugs; each find is doubted by others.",
  input = { parts = "string[]", most = "integer?" },
  deadline = "1h",
  budget = { turns = 400 },
}, function(job, run)
  local replies = run:each(job.parts, function(part)
    return run:send({
      to = "w-seeker",
      prompt = "Look for bugs in "
        .. part
        .. ". Report only what you can show: which input, which wrong result. An empty list is a good answer.",
      schema = "finding[]",
      deadline = "10m",
      retries = 1,
    })
  end)
  local found, missing = run:split(replies)
  local findings = distinct(found, job.most or 50)
  run:progress("%d finds in %d parts, %d parts missing", #findings, #found, #missing)
  local judged = run:each(findings, function(finding)
    local vote = run:vote({ "by running it", "by reading it", "by its tests" }, function(how)
      local reply = run:send({
        to = "w-doubter",
        kind = "claim",
        prompt = "Somebody claims this bug. Try to refute it "
          .. how
          .. ", and say whether it is real.\n"
          .. run:quote(finding),
        schema = "opinion",
        deadline = "10m",
      })
      if reply.ok then
        return reply.data.real
      end
    end, { quorum = 2 })
    return { finding = finding, real = vote.decided and vote.value == true, decided = vote.decided }
  end)
  local value = { bugs = {}, refuted = {}, undecided = {}, missing = missing }
  for _, one in ipairs(judged) do
    local list = one.real and value.bugs or one.decided and value.refuted or value.undecided
    table.insert(list, one.finding)
  end
  if #found == 0 and #job.parts > 0 then
    return run:fail("no part was searched", value)
  end
  if #missing > 0 then
    return run:partial(value, #missing .. " parts were not searched")
  end
  return value
end)
