-- The same task for several workers, each in a git worktree of its own, on more than one model; judges choose.
-- Put your own models in place of these; their addresses stand in fleetd.toml, as [endpoints.local-llm] and [endpoints.chat].

fleet.profile("best-claude", {
  launcher = "claude",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "10m",
  worktree = true,
})
fleet.profile("best-opencode", {
  launcher = "opencode",
  model = "qwen3-coder",
  endpoint = "chat",
  idle_ttl = "10m",
  worktree = true,
})
fleet.profile("best-judge", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
})

fleet.role("w-one", { profiles = { "best-claude" }, max_busy = 3, max_waiting = 50 })
fleet.role("w-other", { profiles = { "best-opencode" }, max_busy = 3, max_waiting = 50 })
fleet.role("w-best-judge", { profiles = { "best-judge" }, max_busy = 3, max_waiting = 50 })

fleet.route("a task: it goes where more are free", function(task, team)
  if task.kind and task.kind ~= "task" then
    return nil
  end
  local one, other = team.roles["w-one"], team.roles["w-other"]
  if other.free > one.free then
    return { role = "w-other", because = "more of these are free" }
  end
  return { role = "w-one", because = "at least as many of these are free" }
end)
