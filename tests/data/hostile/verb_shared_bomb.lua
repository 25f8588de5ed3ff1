-- Thirty tables that would be a billion when written out.
-- place: load
-- says: the value is larger than 1024 KiB
local spec = { "x" }
for _ = 1, 30 do spec = { spec, spec } end
fleet.role("w-x", { profiles = spec })
