-- A role for each number.
-- place: load
-- says: FILE:5:  | took more than 500 ms to load | 64 MiB | 256
for n = 1, 1e7 do
  fleet.role("w-x" .. n .. "x", { profiles = { "echo" } })
end
