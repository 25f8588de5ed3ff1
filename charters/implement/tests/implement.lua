-- With scripted workers: no agent is started, and time is virtual. Worktrees are the real workers'.

local function plan()
  return { { title = "first", task = "do a" }, { title = "second", task = "do b" } }
end

fleet.test("parts are proposed in the order of the plan", function(t)
  t.worker("w-planner", plan)
  t.worker("w-coder", function()
    return "done"
  end)
  t.worker("w-reviewer", function()
    return { good = true, complaint = "" }
  end)
  local out = t.run("implement", { goal = "x" })
  t.equal(out.outcome, "done")
  t.equal(out.value.proposal[1].title, "first")
  t.equal(out.value.proposal[2].order, 2)
end)

fleet.test("what is sent back is mended once by the worker who knows it", function(t)
  local sent = 0
  t.worker("w-planner", function()
    return { { title = "only", task = "do a" } }
  end)
  t.worker("w-coder", function(task)
    return task.prompt:find("sends your work back", 1, true) and "mended" or "done"
  end)
  t.worker("w-reviewer", function(task)
    sent = sent + 1
    return { good = task.prompt:find("mended", 1, true) ~= nil, complaint = "no test" }
  end)
  t.equal(t.run("implement", { goal = "x" }).value.proposal[1].title, "only")
end)

fleet.test("what is never good is not proposed, and a lost worker is named", function(t)
  t.worker("w-planner", plan)
  t.worker("w-coder", function(task)
    if task.prompt:find("do b", 1, true) then
      return t.lost()
    end
    return "done"
  end)
  t.worker("w-reviewer", function()
    return { good = false, complaint = "wrong" }
  end)
  local out = t.run("implement", { goal = "x" })
  t.equal(out.outcome, "failed")
  t.equal(out.value.refused[1].said, "wrong")
  t.equal(#out.value.missing, 1)
end)

fleet.test("where the worker who knows it is gone another one is told everything", function(t)
  t.worker("w-planner", function()
    return { { title = "only", task = "do a" } }
  end)
  t.worker("w-coder", function(task)
    return task.prompt:find("Their branch", 1, true) and "mended by another" or "done"
  end)
  t.worker("w-reviewer", function(task)
    t.gone("w-coder-1")
    return { good = task.prompt:find("mended by another", 1, true) ~= nil, complaint = "no test for x" }
  end)
  local out = t.run("implement", { goal = "x" })
  t.equal(out.outcome, "done")
  t.equal(out.value.proposal[1].worker, "w-coder-2")
  local again = t.sent()[4] -- after the plan, the part and its review
  t.equal(again.to, "w-coder")
  for _, told in ipairs({ "do a", "no test for x", "Their branch" }) do
    t.ok(again.prompt:find(told, 1, true), told)
  end
end)

fleet.test("what a plan has beyond the parts that are allowed is named and not begun", function(t)
  t.worker("w-planner", plan)
  t.worker("w-coder", function()
    return "done"
  end)
  t.worker("w-reviewer", function()
    return { good = true, complaint = "" }
  end)
  local out = t.run("implement", { goal = "x", most = 1 })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.proposal, 1)
  t.equal(out.value.not_begun[1].title, "second")
  t.equal(#t.sent(), 3)
  t.equal(t.run("implement", { goal = "x", most = 0 }).outcome, "failed")
  t.equal(#t.sent(), 3)
end)
