fleet.profile("cat", {
  launcher = "exce",
  command = { "cat" },
})
fleet.role("w", { profiles = { "cat" } })
