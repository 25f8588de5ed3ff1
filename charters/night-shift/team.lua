-- Work for the night: a list of tasks, done while the machine and the model are nobody else's, each on a branch of its own,
-- and a report for the morning. Nobody is woken: what wants a person waits.
-- Put your own models in place of these; their addresses stand in fleetd.toml, as [endpoints.local-llm].

fleet.profile("night", {
  launcher = "claude",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  worktree = true,
  context_cap = { turns = 10 },
})

-- What is sent in the day waits for the evening; what is under way in the morning is finished. At the weekend the machine is
-- free, but somebody may want to use it.
fleet.role("w-night", {
  profiles = { "night" },
  max_busy = 0,
  max_waiting = 200,
  hours = {
    { between = "22:00-06:00", max_busy = 2 },
    { days = "sat-sun", max_busy = 1 },
  },
})

fleet.route("a night: it can wait", function(task)
  if task.kind == "night" or task.kind == nil then
    return { role = "w-night", because = "it can wait for the night" }
  end
end)

-- One line for whoever comes first in the morning.
fleet.on("run_ended", function(event)
  if event.recipe == "night-shift" then
    return {
      action = "tell_leader",
      text = "the night shift has ended: " .. event.outcome .. "; fleetd run show " .. event.run,
    }
  end
end)

-- A dialog that nobody answers at night costs the worker, not the night: it is stopped at once, its turn is lost, and the
-- recipe's `retries` try it on another one. A model that is tried again is no such question.
fleet.on("worker_blocked", function(event)
  local waits_for_a_person = event.why:find("dialog", 1, true) or event.why:find("asks a person", 1, true)
  if event.role == "w-night" and waits_for_a_person then
    return { action = "stop_worker", worker = event.worker, now = true }
  end
end)
