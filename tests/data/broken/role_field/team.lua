fleet.profile("cat", { launcher = "exec", command = { "cat" } })
fleet.role("w", {
  profiles = { "cat" },
  max_bussy = 4,
})
