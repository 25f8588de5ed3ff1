-- It takes nearly all the memory and then sleeps on it.
-- place: recipe
-- says: out of memory: a charter's code may use 64 MiB
fleet.recipe("memory_hoarded", {}, function(job, run)
  local held = {}
  for n = 1, 57 do
    held[n] = string.rep(string.char(64 + n % 30), 1e6) .. n
    if n % 8 == 0 then run:now() end
  end
  run:sleep("1h")
  return #held
end)
