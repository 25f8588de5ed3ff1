fleet.role("w-2", { profiles = { "cat" } })
