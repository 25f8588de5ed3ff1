-- A table that holds itself.
-- place: load
-- says: FILE:6: role 'w-x':  | nested deeper than 32 levels
local spec = { profiles = { "echo" } }
spec.about = spec
fleet.role("w-x", spec)
