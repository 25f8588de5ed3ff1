fleet.profile("cat", {
  launcher = "exec",
  command = { "cat" },
  context_cap = { turns = 3 },
})
fleet.role("w", { profiles = { "cat" } })
