fleet.profile("cat", {
  launcher = "exec",
  command = { "cat" },
  max_busy = 3,
})
fleet.role("w", { profiles = { "cat" } })
