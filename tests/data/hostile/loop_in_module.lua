-- Many files may not take the time of one each.
-- place: load
-- says: FILE:4: the charter took more than 500 ms to load | the charter took more than 500 ms to load
for _ = 1, 1e12 do
  pcall(require, "lib.nothing")
end
