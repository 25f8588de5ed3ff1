-- The team before the judges; words in capitals are filled in by `e2e/judges/mcp`.
fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "30s" })
fleet.profile("asker", {
  launcher = "exec",
  timeout = "5m",
  command = { "sh", "-c", "branch=$(FLEETD ask 'Which branch?') && printf 'on %s' \"$branch\"" },
})
fleet.profile("slow", {
  launcher = "exec",
  timeout = "5m",
  command = { "sh", "-c", 'set -- $(cat) && echo "$*" >>RAN && sleep $1 && printf \'done: %s\' "$*"' },
})
fleet.profile("client", { launcher = "exec", timeout = "5m", command = { "PYTHON", "CLIENT", "worker" } })

fleet.role("w-upper", { profiles = { "upper" }, max_busy = 4, max_waiting = 20 })
fleet.role("w-ask", { profiles = { "asker" }, max_busy = 4, max_waiting = 20 })
fleet.role("w-slow", { profiles = { "slow" }, max_busy = 4, max_waiting = 20 })
fleet.role("w-client", { profiles = { "client" }, max_busy = 1, max_waiting = 20 })

fleet.route("otherwise", function()
  return { role = "w-upper", because = "no rubric said otherwise" }
end)

fleet.recipe("shout", { about = "Shouts.", input = { word = "string" } }, function(job, run)
  return run:send { to = "w-upper", prompt = job.word }.text
end)

fleet.recipe("colour", { about = "Asks for a colour.", input = {} }, function(_, run)
  return run:ask_leader("Which colour?")
end)
