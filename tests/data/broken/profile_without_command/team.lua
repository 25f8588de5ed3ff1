fleet.profile("cat", { launcher = "exec" })
fleet.role("w", { profiles = { "cat" } })
