-- A table from which the collector takes.
-- place: load
-- says: FILE:4: setmetatable: what a table with `__mode` still holds differs at a replay
local seen = setmetatable({}, { __mode = "v" })
seen[1] = {}
