fleet.profile("cat", { launcher = "exec", command = { "cat" } })
fleet.role("w", { profiles = { "cat" } })
fleet.role("v", {
  max_busy = 2,
  profiles = { "cta" },
})
