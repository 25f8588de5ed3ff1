-- The same, said later.
-- place: load
-- says: FILE:7: pairs: what a table with `__mode` still holds differs at a replay
local meta = {}
local seen = setmetatable({}, meta)
meta.__mode = "k"
for key in pairs(seen) do print(key) end
