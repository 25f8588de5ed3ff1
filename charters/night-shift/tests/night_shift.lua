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

fleet.test("a task of the last hours of a night is not cut by the time that it waited", function(t)
  t.worker("w-night", function()
    return t.reply(report(true), { took = "2h" })
  end)
  t.at("tue 07:00")
  local out = t.run("night-shift", { tasks = { "a" } })
  t.equal(out.outcome, "done")
end)

fleet.test("a dialog costs the worker and not the night, and a model that is tried again costs nothing", function(t)
  local stopped = t.event("worker_blocked", { worker = "w-night-1", role = "w-night", why = "a dialog is open" })
  t.equal(stopped, { { action = "stop_worker", worker = "w-night-1", now = true } })
  t.equal(#t.event("worker_blocked", { worker = "w-night-1", role = "w-night", why = "the model is tried again" }), 0)
end)

fleet.test("whoever comes first in the morning is told", function(t)
  local told = t.event("run_ended", { run = "r7", recipe = "night-shift", outcome = "partial" })
  t.equal(told[1].text, "the night shift has ended: partial; fleetd run show r7")
  t.equal(#t.event("run_ended", { run = "r8", recipe = "review", outcome = "done" }), 0)
end)

fleet.test("a night without tasks is a mistake", function(t)
  t.equal(t.run("night-shift", { tasks = {} }).outcome, "failed")
end)

fleet.test("what is for the night goes there", function(t)
  t.equal(t.route({ kind = "night" }).role, "w-night")
end)
