-- A cap without a limit.
-- place: load
-- says: FILE:4: role 'w-x': max_busy: the number inf cannot be used: it must be finite
fleet.role("w-x", { profiles = { "echo" }, max_busy = math.huge })
