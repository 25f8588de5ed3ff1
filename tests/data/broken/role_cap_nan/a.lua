fleet.role("w", { profiles = { "cat" }, max_busy = 0 / 0 })
