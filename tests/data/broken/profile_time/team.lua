fleet.profile("cat", {
  launcher = "exec",
  command = { "cat" },
  timeout = "90 parsecs",
})
fleet.role("w", { profiles = { "cat" } })
