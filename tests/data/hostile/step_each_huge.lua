-- A part for each of a million.
-- place: recipe
-- says: run:each takes at most 10000 items, got 1000000
fleet.recipe("step_each_huge", {}, function(job, run)
  return run:each(table.create(1e6, 1), function() end)
end)
