fleet.role("w", {})
