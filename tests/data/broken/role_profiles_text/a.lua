fleet.role("w", { profiles = "cat" })
