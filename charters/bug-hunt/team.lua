-- A hunt for bugs: many workers on a cheap model search parts of a repository, and three others must agree on each find.
-- Put your own models in place of these; their addresses stand in fleetd.toml, as [endpoints.local-llm].

-- It cannot edit, but it has a shell, since a bug is shown by running something: what it does there nobody holds back.
fleet.profile("hunt-seeker", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
  about = "searches and runs; is told to change nothing, and has no tools to edit with",
})

fleet.role("w-seeker", { profiles = { "hunt-seeker" }, max_busy = 6, max_waiting = 500 })
fleet.role("w-doubter", { profiles = { "hunt-seeker" }, max_busy = 3, max_waiting = 500 })

fleet.route("claims go to those who doubt", function(task)
  if task.kind == "claim" then
    return { role = "w-doubter", because = "somebody else must look at it" }
  end
end)
fleet.route("a hunt: it is searched", function(task)
  if task.kind == "search" or task.kind == nil then
    return { role = "w-seeker", because = "it is to be searched" }
  end
end)
