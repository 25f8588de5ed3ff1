-- One of many parts that never waits.
-- place: recipe
-- says: ran for more than 100 ms without waiting
fleet.recipe("loop_in_part", {}, function(job, run)
  return run:each({ 1, 2, 3 }, function(n)
    while n == 2 do end
    return n
  end)
end)
