-- café
fleet.role("w", { profiles = { "cat" } })
