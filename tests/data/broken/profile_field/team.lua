fleet.profile("cat", {
  launcher = "exec",
  command = { "cat" },
  comand = { "cat" },
})
fleet.role("w", { profiles = { "cat" } })
