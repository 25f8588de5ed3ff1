fleet.profile("cat", { command = { "cat" } })
fleet.role("w", { profiles = { "cat" } })
