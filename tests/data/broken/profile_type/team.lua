fleet.profile("cat", {
  launcher = "exec",
  command = { "cat" },
  idle_ttl = { 5 },
})
fleet.role("w", { profiles = { "cat" } })
