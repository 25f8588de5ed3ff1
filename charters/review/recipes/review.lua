-- Reviews a change: several reviewers at once, each with an eye for something else; a judge puts together what they found.
-- Try it: fleetd run start review --wait --job '{"change": "the diff, or how to see it: git diff main"}'

local EYES = {
  "correctness: wrong results, missing cases, races, errors that are swallowed",
  "safety: what a hostile input, file or user could do",
  "tests: what is not shown by any test, and which tests cannot fail",
  "plainness: what a reader cannot follow, and what could be left out",
}
-- How long a change may be that is given as its text: nobody must decide about one that he saw half of.
local LONGEST = 200000

fleet.shape("review-finding", {
  file = "string",
  line = "integer?",
  severity = { enum = { "low", "medium", "high" } },
  why = "string",
})
fleet.shape(
  "review-verdict",
  { decision = { enum = { "take", "mend", "refuse" } }, because = "string", findings = "review-finding[]" }
)

-- Returns what is wrong with a job, before anybody is paid for it.
local function wrong(job, eyes, quorum)
  if eyes < 1 or eyes > #EYES then
    return ("`eyes` is %d, and may be 1 to %d"):format(eyes, #EYES)
  end
  if quorum < 1 or quorum > eyes then
    return ("`quorum` is %d, and may be 1 to %d, the number of eyes"):format(quorum, eyes)
  end
  if #job.change > LONGEST then
    return ("`change` has %d bytes, and may have %d; say how to see it, such as: git diff main"):format(
      #job.change,
      LONGEST
    )
  end
end

local function look(run, job, eye)
  local reply = run:send({
    to = "w-eye",
    prompt = "Review this change. Look only for "
      .. eye
      .. ". Report what you can show; an empty list is a good answer.\n"
      .. run:quote(job.change, { most = 500000 }),
    schema = "review-finding[]",
    timeout = "10m",
    retries = 1,
  })
  if reply.ok and reply.truncated then
    return { ok = false, error = "too long", why = "more than 1 MiB, in " .. reply.truncated.path, turn = reply.turn }
  end
  return reply
end

fleet.recipe("review", {
  about = "Reviews a change with several eyes, and has a judge decide.",
  input = { change = "string", eyes = "integer?", quorum = "integer?" },
  deadline = "30m",
  budget = { turns = 20 },
}, function(job, run)
  local count = job.eyes or 3
  local quorum = job.quorum or math.ceil(count / 2)
  local why = wrong(job, count, quorum)
  if why then
    return run:fail(why)
  end
  local found, missing = run:split(run:each({ unpack(EYES, 1, count) }, function(eye)
    return look(run, job, eye)
  end))
  local findings = {}
  for _, reply in ipairs(found) do
    for _, finding in ipairs(reply.data) do
      table.insert(findings, finding)
    end
  end
  -- A decision of too few eyes looks like one of all of them; what they saw is kept.
  if #found < quorum then
    return run:fail(
      ("%d of %d reviewers answered, and %d must"):format(#found, count, quorum),
      { findings = findings, missing = missing }
    )
  end
  run:progress("%d of %d reviewers found %d things", #found, count, #findings)
  local verdict = run:send({
    to = "w-review-judge",
    kind = "judge",
    prompt = "These are findings of reviewers of one change. Drop what is wrong or said twice, order the rest by harm, and decide.\n"
      .. "The change:\n"
      .. run:quote(job.change, { most = 500000 })
      .. "\nThe findings:\n"
      .. run:quote(findings),
    schema = "review-verdict",
    timeout = "10m",
    retries = 1,
  })
  if not verdict.ok or verdict.truncated then
    local in_the_way = verdict.why or verdict.error or "the verdict has more than 1 MiB"
    return run:partial({ findings = findings, missing = missing }, "nobody judged: " .. in_the_way)
  end
  local value = {
    decision = verdict.data.decision,
    because = verdict.data.because,
    findings = verdict.data.findings,
    missing = missing,
  }
  if #missing > 0 then
    return run:partial(value, #missing .. " reviewers are missing")
  end
  return value
end)
