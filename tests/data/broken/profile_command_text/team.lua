fleet.profile("cat", {
  launcher = "exec",
  command = "cat -u",
})
fleet.role("w", { profiles = { "cat" } })
