-- With scripted workers: no agent is started, and time is virtual.

local function report(done, open)
  return { done = done, summary = "did it", open = open or {} }
end

fleet.test("every task has its report", function(t)
  t.worker("w-night", function()
    return report(true)
  end)
  local out = t.run("night-shift", { tasks = { "a", "b", "c" } })
  t.equal(out.outcome, "done")
  t.equal(#out.value.done, 3)
end)

fleet.test("a question is answered by itself and nobody is woken", function(t)
  t.answer(function()
    return "somebody was woken"
  end)
  t.worker("w-night", function()
    return report(false, { t.ask("which of the two?") })
  end)
  local out = t.run("night-shift", { tasks = { "a" } })
  t.equal(out.outcome, "partial")
  t.ok(out.value.open[1].open[1]:find("Nobody is there", 1, true))
end)

fleet.test("what was lost is named in the morning", function(t)
  t.worker("w-night", function(task)
    if task.prompt:find("bad", 1, true) then
      return t.lost()
    end
    return report(true)
  end)
  local out = t.run("night-shift", { tasks = { "good", "bad" } })
  t.equal(out.outcome, "partial")
  t.equal(out.value.missing[1].item, "bad")
  t.equal(t.run("night-shift", { tasks = { "bad" } }).outcome, "failed")
end)

fleet.test("what is sent after the night has ended is done in the next one", function(t)
  t.worker("w-night", function()
    return report(true)
  end)
  t.at("tue 06:30")
  t.equal(t.run("night-shift", { tasks = { "a" } }).outcome, "done")
end)

fleet.test("a night without tasks is a mistake", function(t)
  t.equal(t.run("night-shift", { tasks = {} }).outcome, "failed")
end)

fleet.test("what is for the night goes there", function(t)
  t.equal(t.route({ kind = "night" }).role, "w-night")
end)
