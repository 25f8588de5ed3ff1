-- A recipe that gathers more than there is, with a wait now and then.
-- place: recipe
-- says: out of memory: a charter's code may use 64 MiB | ran for more than 100 ms without waiting
fleet.recipe("memory_in_recipe", {}, function(job, run)
  local held = {}
  while true do
    for n = 1, 20 do held[#held + 1] = string.rep(tostring(n), 1e5) .. #held end
    run:now()
  end
end)
