-- A cap below nothing.
-- place: load
-- says: field 'max_busy': expected a whole number from 1 to 1000000, got -5
fleet.role("w-x", { profiles = { "echo" }, max_busy = -5 })
