-- A name of a megabyte.
-- place: load
-- says: FILE:4: ' | 64 at most
fleet.role(string.rep("w", 1e6), { profiles = { "echo" } })
