-- A long text, split again and again.
-- place: load
-- says: the charter took more than 500 ms to load
local text = string.rep("ab", 2e6)
for _ = 1, 1e9 do
  text:split("bc")
end
