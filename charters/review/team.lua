-- Several eyes on one change: reviewers that look for different things at the same time, and a judge who weighs what they
-- found. Put your own models in place of these; their addresses stand in fleetd.toml, as [endpoints.local-llm].

-- They have no tools to edit with, but a shell, since a change is seen by `git diff`: what they do there nobody holds back.
fleet.profile("review-eye", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
  about = "reads, runs and reports; is told to change nothing, and has no tools to edit with",
})
fleet.profile("review-judge", {
  launcher = "claude-headless",
  model = "qwen3-coder",
  endpoint = "local-llm",
  idle_ttl = "5m",
  options = { deny = { "Edit", "Write" } },
  about = "weighs what others found",
})

fleet.role("w-eye", { profiles = { "review-eye" }, max_busy = 4, about = "reviewers" })
fleet.role("w-review-judge", { profiles = { "review-judge" }, max_busy = 1, about = "decides" })

fleet.route("what is to be judged", function(task)
  if task.kind == "judge" then
    return { role = "w-review-judge", because = "the task is to judge" }
  end
end)
fleet.route("a review: it is read", function(task)
  if task.kind == "read" or task.kind == nil then
    return { role = "w-eye", because = "reviewers read anything" }
  end
end)
