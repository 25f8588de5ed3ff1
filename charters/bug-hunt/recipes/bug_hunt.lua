-- Searches parts of a repository for bugs, and has every find doubted: what two of three others can show counts.
-- Try it: fleetd run start bug-hunt --wait --job '{"parts": ["src/a.rs", "src/b.rs"]}'

fleet.shape("hunt-finding", { file = "string", line = "integer?", why = "string", proof = "string" })
fleet.shape("hunt-opinion", { real = "boolean", because = "string" })

-- How many finds are judged at most, if the job says nothing; each costs three turns.
local MOST = 50

-- What was said twice in the same words is one find; two finds in one place are two.
local function key(finding)
  local words = (finding.file .. ":" .. (finding.line or "") .. ":" .. finding.why):lower()
  return (words:gsub("%s+", " "))
end

local function distinct(found)
  local findings, seen = {}, {}
  for _, reply in ipairs(found) do
    for _, finding in ipairs(reply.data) do
      if not seen[key(finding)] then
        seen[key(finding)] = true
        table.insert(findings, finding)
      end
    end
  end
  return findings
end

local function search(run, part)
  local reply = run:send({
    to = "w-seeker",
    prompt = "Look for bugs in "
      .. part
      .. ". Report only what you can show: which input, which wrong result. An empty list is a good answer.",
    schema = "hunt-finding[]",
    timeout = "10m",
    retries = 1,
  })
  if reply.ok and reply.truncated then
    return { ok = false, error = "too long", why = "more than 1 MiB, in " .. reply.truncated.path, turn = reply.turn }
  end
  return reply
end

-- Returns the find with what was said of it, and which list it belongs to.
local function judge(run, finding)
  local said = {}
  local vote = run:vote({ "by running it", "by reading it", "by its tests" }, function(how)
    local reply = run:send({
      to = "w-doubter",
      kind = "claim",
      prompt = "Somebody claims this bug. Try to refute it " .. how .. ", and say whether it is real.\n" .. run:quote(
        finding,
        { most = 50000 }
      ),
      schema = "hunt-opinion",
      timeout = "10m",
    })
    if not reply.ok or reply.truncated then
      table.insert(said, { how = how, because = reply.why or reply.error or "it said more than 1 MiB" })
      return nil
    end
    table.insert(said, { how = how, real = reply.data.real, because = reply.data.because })
    return reply.data.real
  end, { quorum = 2 })
  finding.said = said
  return { finding = finding, list = not vote.decided and "undecided" or vote.value and "bugs" or "refuted" }
end

fleet.recipe("bug-hunt", {
  about = "Searches parts of a repository for bugs; each find is doubted by others.",
  input = { parts = "string[]", most = "integer?" },
  deadline = "1h",
  budget = { turns = 400 },
}, function(job, run)
  local most = job.most or MOST
  if #job.parts == 0 or most < 1 then
    return run:fail("nothing to do: `parts` names at least one file or directory, and `most` is 1 or more")
  end
  local found, missing = run:split(run:each(job.parts, function(part)
    return search(run, part)
  end))
  local value = { bugs = {}, refuted = {}, undecided = {}, not_judged = {}, missing = missing }
  if #found == 0 then
    return run:fail("no part was searched", value)
  end
  local findings = {}
  for n, finding in ipairs(distinct(found)) do
    table.insert(n <= most and findings or value.not_judged, finding)
  end
  run:progress("%d finds in %d parts, %d parts missing", #findings + #value.not_judged, #found, #missing)
  for _, judged in
    ipairs(run:each(findings, function(finding)
      return judge(run, finding)
    end))
  do
    table.insert(value[judged.list], judged.finding)
  end
  local open = ("%d parts were not searched, %d finds are undecided, %d were not judged"):format(
    #missing,
    #value.undecided,
    #value.not_judged
  )
  if #missing + #value.undecided + #value.not_judged > 0 then
    return run:partial(value, open)
  end
  return value
end)
