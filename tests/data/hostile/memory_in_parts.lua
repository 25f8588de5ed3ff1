-- Each part holds little, all of them hold more than there is.
-- place: recipe
-- says: out of memory: a charter's code may use 64 MiB | ran for more than 100 ms without waiting
fleet.recipe("memory_in_parts", {}, function(job, run)
  local list = {}
  for n = 1, 5000 do list[n] = n end
  return run:each(list, function(n)
    local held = string.rep("x", 1e5) .. n
    run:sleep("1h")
    return #held
  end)
end)
