-- With scripted workers: no agent is started, and time is virtual. Worktrees are the real workers'.

local function done(summary)
  return function()
    return { done = true, summary = summary }
  end
end

local function chosen(best)
  return function()
    return { best = best, because = "shorter" }
  end
end

fleet.test("the judges' majority is the best, and their reasons are kept", function(t)
  t.worker("w-one", done("one"))
  t.worker("w-other", done("other"))
  t.worker("w-best-judge", chosen(2))
  local out = t.run("best-of-n", { task = "x", n = 2 })
  t.equal(out.outcome, "done")
  t.equal(out.value.best.summary, "other")
  t.equal(out.value.others[1].summary, "one")
  t.equal(out.value.said[1].because, "shorter")
end)

fleet.test("a choice that is none does not count, and without a majority all is shown", function(t)
  t.worker("w-one", done("one"))
  t.worker("w-other", done("other"))
  t.worker("w-best-judge", chosen(7))
  local out = t.run("best-of-n", { task = "x", n = 2 })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.others, 2)
end)

fleet.test("one that is left needs no judge, and none is a failure", function(t)
  t.worker("w-one", done("one"))
  t.worker("w-other", function()
    return t.lost()
  end)
  t.worker("w-best-judge", function()
    return t.fail("it was asked")
  end)
  local out = t.run("best-of-n", { task = "x", n = 2 })
  t.equal(out.outcome, "partial")
  t.equal(out.value.best.summary, "one")
  t.equal(t.run("best-of-n", { task = "x", n = 1 }).outcome, "done")
  t.worker("w-one", function()
    return t.fail("no")
  end)
  t.equal(t.run("best-of-n", { task = "x", n = 2 }).outcome, "failed")
end)

fleet.test("the first that is done wins, and not the first that says something", function(t)
  t.worker("w-one", function()
    return { done = false, summary = "I could not do it: no such tool" }
  end)
  t.worker("w-other", function()
    return t.reply({ done = true, summary = "other" }, { took = "5m" })
  end)
  t.equal(t.run("first-of-n", { task = "x", n = 2 }).value.summary, "other")
  local out = t.run("first-of-n", { task = "x", n = 1 })
  t.equal(out.outcome, "failed")
  t.equal(out.value.missing[1].why, "I could not do it: no such tool")
end)

fleet.test("a judge that is lost is asked again", function(t)
  t.worker("w-one", done("one"))
  t.worker("w-other", done("other"))
  t.worker("w-best-judge", function(task)
    return task.try == 1 and t.lost() or { best = 1, because = "shorter" }
  end)
  t.equal(t.run("best-of-n", { task = "x", n = 2 }).outcome, "done")
end)

fleet.test("long answers are cut for the judges, and whole in the value", function(t)
  t.worker("w-one", done(("one\n"):rep(100000)))
  t.worker("w-other", done(("other\n"):rep(75000)))
  t.worker("w-best-judge", chosen(2))
  local out = t.run("best-of-n", { task = "x", n = 2 })
  t.equal(out.outcome, "done")
  t.equal(#out.value.best.summary, 450000)
end)

fleet.test("what cannot be done is refused before anybody is paid, and the valid numbers are named", function(t)
  for _, n in ipairs({ -3, 0, 7 }) do
    t.equal(t.run("best-of-n", { task = "x", n = n }).why, ("`n` is %d, and may be 1 to 6"):format(n))
    t.equal(t.run("first-of-n", { task = "x", n = n }).outcome, "failed")
  end
  t.equal(t.run("best-of-n", { task = "x", judges = 0 }).why, "`judges` is 0, and may be 1 to 9")
  t.equal(#t.sent(), 0)
end)

fleet.test("a task goes where more are free", function(t)
  local busy = { roles = { ["w-one"] = { free = 0 } } }
  t.equal(t.route({ kind = "task" }).role, "w-one")
  t.equal(t.route({ kind = "task" }, busy).role, "w-other")
end)
