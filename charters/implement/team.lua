-- A piece of work from its goal to branches that could be merged: one splits it, several implement their parts, each in a
-- git worktree of its own, others review. Nothing is merged here: that is the leader's, or yours.
-- Put your own models in place of these; their addresses stand in fleetd.toml, as [endpoints.local-llm].

fleet.profile("thinker", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
  about = "plans and reviews; is told to change nothing, and has no tools to edit with",
})
fleet.profile("coder", {
  launcher = "claude",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "20m",
  worktree = true,
  context_cap = { turns = 20 },
  about = "implements, on a branch of its own",
})

fleet.role("w-planner", { profiles = { "thinker" }, max_busy = 1 })
fleet.role("w-coder", { profiles = { "coder" }, max_busy = 3, max_waiting = 50 })
fleet.role("w-reviewer", { profiles = { "thinker" }, max_busy = 2, max_waiting = 50 })

fleet.route("plans", function(task)
  if task.kind == "plan" then
    return { role = "w-planner", because = "the task is to plan" }
  end
end)
fleet.route("reviews", function(task)
  if task.kind == "review" then
    return { role = "w-reviewer", because = "the task is to review" }
  end
end)
fleet.route("a goal: it is done", function(task)
  if task.kind == "code" or task.kind == nil then
    return { role = "w-coder", because = "there is something to be done" }
  end
end)
