-- A hunt for bugs: many workers on a cheap model search parts of a repository, and three others must agree on each find.
-- Put your own models in place of these; their addresses stand in fleetd.toml, as [endpoints.local-llm].

fleet.profile("seeker", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
  about = "searches, changes nothing",
})

fleet.role("w-seeker", { profiles = { "seeker" }, max_busy = 6, max_waiting = 500 })
fleet.role("w-doubter", { profiles = { "seeker" }, max_busy = 3, max_waiting = 500 })

fleet.route("claims go to those who doubt", function(task)
  if task.kind == "claim" then
    return { role = "w-doubter", because = "somebody else must look at it" }
  end
end)
fleet.route("otherwise", function()
  return { role = "w-seeker", because = "it is to be searched" }
end)
