-- With scripted workers: no agent is started, and time is virtual.

fleet.test("the judges' majority is the best", function(t)
  t.worker("w-one", function()
    return "one"
  end)
  t.worker("w-other", function()
    return "other"
  end)
  t.worker("w-judge", function()
    return { best = 2, because = "shorter" }
  end)
  local out = t.run("best-of-n", { task = "x", n = 2 })
  t.equal(out.outcome, "done")
  t.equal(out.value.best.text, "other")
  t.equal(out.value.others[1].text, "one")
end)

fleet.test("a choice that is none does not count, and without a majority all is shown", function(t)
  t.worker("w-one", function()
    return "one"
  end)
  t.worker("w-other", function()
    return "other"
  end)
  t.worker("w-judge", function()
    return { best = 7, because = "?" }
  end)
  local out = t.run("best-of-n", { task = "x", n = 2 })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.others, 2)
end)

fleet.test("one that is left needs no judge, and none is a failure", function(t)
  t.worker("w-one", function()
    return "one"
  end)
  t.worker("w-other", function()
    return t.lost()
  end)
  t.worker("w-judge", function()
    return t.fail("it was asked")
  end)
  t.equal(t.run("best-of-n", { task = "x", n = 2 }).value.best.text, "one")
  t.worker("w-one", function()
    return t.fail("no")
  end)
  t.equal(t.run("best-of-n", { task = "x", n = 2 }).outcome, "failed")
end)

fleet.test("the first one wins", function(t)
  t.worker("w-one", function()
    return t.fail("no")
  end)
  t.worker("w-other", function()
    return "other"
  end)
  t.equal(t.run("first-of-n", { task = "x", n = 2 }).value.text, "other")
end)
