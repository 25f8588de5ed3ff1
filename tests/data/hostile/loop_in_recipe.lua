-- A recipe that never waits.
-- place: recipe
-- says: ran for more than 100 ms without waiting
fleet.recipe("loop_in_recipe", {}, function(job, run)
  while true do end
end)
