-- With scripted workers: no agent is started, and time is virtual.

local function finding(why)
  return { file = "a.rs", line = 7, severity = "high", why = why }
end

local function eyes(task)
  if task.prompt:find("safety", 1, true) then
    return { finding("it trusts its input") }
  end
  return {}
end

fleet.test("what the eyes find is judged, and the judge sees the change", function(t)
  t.worker("w-eye", eyes)
  t.worker("w-review-judge", function(task)
    t.ok(task.prompt:find("it trusts its input", 1, true), "the findings are before the judge")
    t.ok(task.prompt:find("THE DIFF", 1, true), "and the change")
    return { decision = "mend", because = "one hole", findings = { finding("it trusts its input") } }
  end)
  local out = t.run("review", { change = "THE DIFF" })
  t.equal(out.outcome, "done")
  t.equal(out.value.decision, "mend")
  t.equal(#out.value.findings, 1)
  t.equal(#t.sent(), 4)
end)

fleet.test("too few eyes decide nothing, and a missing one is named", function(t)
  t.worker("w-eye", function(task)
    if task.prompt:find("correctness", 1, true) then
      return {}
    end
    return t.timeout()
  end)
  t.worker("w-review-judge", function()
    return { decision = "take", because = "clean", findings = {} }
  end)
  t.equal(t.run("review", { change = "x" }).outcome, "failed")
  local out = t.run("review", { change = "x", quorum = 1 })
  t.equal(out.outcome, "partial")
  t.equal(out.value.decision, "take")
  t.equal(#out.value.missing, 2)
end)

fleet.test("without a judge the findings are kept", function(t)
  t.worker("w-eye", eyes)
  t.worker("w-review-judge", function()
    return t.fail("no model")
  end)
  local out = t.run("review", { change = "x" })
  t.equal(out.outcome, "partial")
  t.equal(out.value.findings[1].why, "it trusts its input")
end)

fleet.test("what was found is kept also where too few eyes answered", function(t)
  t.worker("w-eye", function(task)
    if task.prompt:find("safety", 1, true) then
      return { finding("it trusts its input") }
    end
    return t.lost()
  end)
  local out = t.run("review", { change = "x" })
  t.equal(out.outcome, "failed")
  t.equal(out.value.findings[1].why, "it trusts its input")
  t.equal(#out.value.missing, 2)
end)

fleet.test("what cannot be reviewed is refused before anybody is paid, and the valid numbers are named", function(t)
  local function why(job)
    local out = t.run("review", job)
    t.equal(out.outcome, "failed")
    return out.why
  end
  t.equal(why({ change = "x", eyes = 0 }), "`eyes` is 0, and may be 1 to 4")
  t.equal(why({ change = "x", eyes = 10 }), "`eyes` is 10, and may be 1 to 4")
  t.equal(why({ change = "x", quorum = 9 }), "`quorum` is 9, and may be 1 to 3, the number of eyes")
  t.ok(why({ change = ("x"):rep(200001) }):find("git diff main", 1, true))
  t.equal(#t.sent(), 0)
end)

fleet.test("a task to judge goes to the judge", function(t)
  t.equal(t.route({ kind = "judge" }).role, "w-review-judge")
  t.equal(t.route({ kind = "read" }).role, "w-eye")
end)
