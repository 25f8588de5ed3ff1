-- Does a list of tasks at night, two at a time, and reports what became of each; what a task costs is bounded by the budget.
-- Try it: fleetd run start night-shift --job '{"tasks": ["update the dependencies", "mend the flaky test of the parser"]}'

fleet.shape("night-report", { done = "boolean", summary = "string", open = "string[]" })

fleet.recipe("night-shift", {
  about = "Works through tasks in the night and reports in the morning.",
  input = { tasks = "string[]" },
  -- Until the next morning, whenever it is begun.
  deadline = "24h",
  budget = { turns = 200 },
}, function(job, run)
  if #job.tasks == 0 then
    return run:fail("nothing to do: `tasks` is empty")
  end
  local replies = run:each(job.tasks, function(task)
    local reply = run:send({
      to = "w-night",
      prompt = "Do this alone; nobody can be asked. Commit everything on your branch. If something must be decided by a person, leave it open and say so.\n"
        .. run:quote(task),
      schema = "night-report",
      timeout = "3h",
      retries = 1,
      -- The night goes on: a question is an open point of the report.
      on_ask = function()
        return "Nobody is there. Choose what can be undone most easily, and name it as open."
      end,
    })
    run:progress("%s: %s", task, reply.ok and "done" or (reply.why or reply.error))
    if reply.ok and reply.truncated then
      return { ok = false, error = "too long", why = "more than 1 MiB, in " .. reply.truncated.path, turn = reply.turn }
    end
    return reply
  end)
  local found, missing = run:split(replies)
  local done, open = {}, {}
  for _, reply in ipairs(found) do
    local one = { summary = reply.data.summary, open = reply.data.open, worker = reply.from.worker, work = reply.work }
    table.insert(reply.data.done and done or open, one)
  end
  local value = { done = done, open = open, missing = missing }
  if #found == 0 then
    return run:fail("nothing was done", value)
  end
  if #missing + #open > 0 then
    return run:partial(value, ("%d tasks are open, %d have no report"):format(#open, #missing))
  end
  return value
end)
