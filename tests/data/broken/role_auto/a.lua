fleet.role("auto", { profiles = { "cat" } })
