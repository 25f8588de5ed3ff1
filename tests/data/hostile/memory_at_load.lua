-- A table that only grows, while the charter is loaded.
-- place: load
-- says: out of memory: a charter's code may use 64 MiB | the charter took more than 500 ms to load
local held = {}
while true do held[#held + 1] = string.rep("x", 1e5) .. #held end
