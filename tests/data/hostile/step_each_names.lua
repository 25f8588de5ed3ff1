-- Parts without an order.
-- place: recipe
-- says: run:each: expected a list, got a table with names
fleet.recipe("step_each_names", {}, function(job, run)
  return run:each({ a = 1 }, function() end)
end)
