-- A long text, counted again and again.
-- place: load
-- says: the charter took more than 500 ms to load
local text = string.rep("a", 8e6)
for _ = 1, 1e9 do
  utf8.len(text)
end
