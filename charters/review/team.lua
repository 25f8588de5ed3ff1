-- Several eyes on one change: reviewers that look for different things at the same time, and a judge who weighs what they
-- found. Put your own models in place of these; their addresses stand in fleetd.toml, as [endpoints.local-llm].

fleet.profile("eye", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
  about = "reads and reports, changes nothing",
})
fleet.profile("judge", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
  about = "weighs what others found",
})

fleet.role("w-eye", { profiles = { "eye" }, max_busy = 4, about = "reviewers" })
fleet.role("w-judge", { profiles = { "judge" }, max_busy = 1, about = "decides" })

fleet.route("what is to be judged", function(task)
  if task.kind == "judge" then
    return { role = "w-judge", because = "the task is to judge" }
  end
end)
fleet.route("otherwise", function()
  return { role = "w-eye", because = "reviewers read anything" }
end)
