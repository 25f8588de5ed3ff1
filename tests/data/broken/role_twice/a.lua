fleet.role("w-local", { profiles = { "cat" } })
