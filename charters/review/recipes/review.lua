-- Reviews a change: several reviewers at once, each with an eye for something else; a judge puts together what they found.
-- Try it: fleetd run start review --wait --job '{"change": "the diff, or how to see it: git diff main"}'

local EYES = {
  "correctness: wrong results, missing cases, races, errors that are swallowed",
  "safety: what a hostile input, file or user could do",
  "tests: what is not shown by any test, and which tests cannot fail",
  "plainness: what a reader cannot follow, and what could be left out",
}

fleet.shape("finding", {
  file = "string",
  line = "integer?",
  severity = { enum = { "low", "medium", "high" } },
  why = "string",
})
fleet.shape(
  "verdict",
  { decision = { enum = { "take", "mend", "refuse" } }, because = "string", findings = "finding[]" }
)

fleet.recipe("review", {
  about = "Reviews a change with several eyes, and has a judge decide.",
  input = { change = "string", eyes = "integer?", quorum = "integer?" },
  deadline = "30m",
  budget = { turns = 20 },
}, function(job, run)
  local eyes = {}
  for n = 1, math.min(job.eyes or 3, #EYES) do
    eyes[n] = EYES[n]
  end
  local replies = run:each(eyes, function(eye)
    return run:send({
      to = "w-eye",
      prompt = "Review this change. Look only for "
        .. eye
        .. ". Report what you can show; an empty list is a good answer.\n"
        .. run:quote(job.change),
      schema = "finding[]",
      deadline = "10m",
      retries = 1,
    })
  end)
  local found, missing = run:split(replies)
  -- A decision of too few eyes looks like one of all of them.
  if #found < (job.quorum or math.ceil(#eyes / 2)) then
    return run:fail("too few reviewers answered", { missing = missing })
  end
  local findings = {}
  for _, reply in ipairs(found) do
    for _, finding in ipairs(reply.data) do
      table.insert(findings, finding)
    end
  end
  run:progress("%d of %d reviewers found %d things", #found, #eyes, #findings)
  local verdict = run:send({
    to = "w-judge",
    kind = "judge",
    prompt = "These are findings of reviewers of one change. Drop what is wrong or said twice, order the rest by harm, and decide.\n"
      .. "The change:\n"
      .. run:quote(job.change)
      .. "\nThe findings:\n"
      .. run:quote(findings),
    schema = "verdict",
    deadline = "10m",
    retries = 1,
  })
  if not verdict.ok then
    return run:partial({ findings = findings, missing = missing }, "nobody judged: " .. (verdict.why or verdict.error))
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
