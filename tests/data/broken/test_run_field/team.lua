fleet.profile("cat", { launcher = "exec", command = { "cat" } })
fleet.role("w-local", { profiles = { "cat" }, max_busy = 2 })
fleet.role("w-claude", { profiles = { "cat" } })
