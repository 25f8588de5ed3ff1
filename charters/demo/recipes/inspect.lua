-- One job: inspect a directory with many workers at once, and let a judge rank what they found.
-- fleetd writes each step down before it acts: kill it in the middle, start it again, and the run goes on from there.

local inspectors = { "w-notes", "w-size", "w-slips", "w-tests" }

-- Which part goes to which worker. Each inspector gets every part; the two that go wrong on purpose get one.
local function plan(parts)
  local errands = {}
  for index, part in ipairs(parts) do
    for _, role in ipairs(inspectors) do
      errands[#errands + 1] = { role = role, part = index, files = part }
    end
  end
  if #parts > 0 then
    errands[#errands + 1] = { role = "w-flaky", part = 1, files = parts[1], on_purpose = true }
    errands[#errands + 1] = { role = "w-slow", part = 1, files = parts[1], on_purpose = true }
  end
  return errands
end

-- What became of one errand.
local function receipt(role, part, reply)
  return {
    turn = reply.turn,
    role = role,
    part = part,
    worker = reply.from.worker,
    outcome = reply.outcome,
    times = reply.times, -- accepted, handed, started, settled
  }
end

-- The judge answers in lines of tab-parted fields: findings, and one `sum` for each kind of worker.
local function read_verdict(text)
  local findings, sums = {}, {}
  for line in text:gmatch("[^\n]+") do
    local severity, file, at, what = line:match("^(%a+)\t([^\t]+)\t(%d+)\t([^\t]+)$")
    if severity then
      findings[#findings + 1] = { severity = severity, file = file, line = tonumber(at), what = what }
    end
    local kind, files, found, unread = line:match("^sum\t(%a+)\t(%d+)\t(%d+)\t(%d+)$")
    if kind then
      sums[#sums + 1] = { kind = kind, files = tonumber(files), found = tonumber(found), unread = tonumber(unread) }
    end
  end
  return findings, sums
end

fleet.recipe("inspect", {
  about = "Workers inspect the parts of a directory, each for something else; a judge ranks what they found.",
  input = {
    root = "string", -- the directory, absolute
    parts = "string[]", -- each a list of files, one a line, or `@` and the path of such a list
    top = "integer?", -- how long the ranking may be; 20
  },
  deadline = "10m",
}, function(job, run)
  local errands = plan(job.parts)
  run:progress("%d parts, %d errands", #job.parts, #errands)

  -- All are sent at once; how many run at once is up to the roles in team.lua. The deadline is for waiting and working
  -- together, the profile's timeout for working alone.
  local replies = run:each(errands, function(errand)
    return run:send { to = errand.role, prompt = job.root .. "\n" .. errand.files .. "\n", deadline = "8m" }
  end)

  -- What went wrong is a value like any other: it is reported, and the rest goes on.
  local found, lost = run:split(replies)
  local receipts, missing = {}, {}
  for index, errand in ipairs(errands) do
    receipts[index] = receipt(errand.role, errand.part, replies[index])
  end
  for index, gap in ipairs(lost) do
    local errand, reply = errands[gap.part], replies[gap.part]
    missing[index] = {
      role = errand.role,
      part = errand.part,
      turn = gap.turn,
      error = gap.error, -- one of a fixed list of words; `why` is for people
      why = reply.why,
      stderr = reply.stderr,
      on_purpose = errand.on_purpose or false,
    }
  end

  run:progress("judging %d replies, %d missing", #found, #missing)
  local verdict = run:send { to = "w-judge", prompt = "top " .. (job.top or 20) .. "\n" .. run:quote(found) }
  receipts[#receipts + 1] = receipt("w-judge", nil, verdict)
  local result = { findings = {}, sums = {}, missing = missing, receipts = receipts }
  if not verdict.ok then
    return run:partial(result, "no verdict: " .. tostring(verdict.why or verdict.error))
  end

  result.findings, result.sums = read_verdict(verdict.text)
  if #missing > 0 then
    return run:partial(result, #missing .. " of " .. #errands .. " errands brought nothing back")
  end
  return result
end)
