-- A draw from what is no range.
-- place: recipe
-- says: run:random: 
fleet.recipe("step_random_absurd", {}, function(job, run)
  return run:random(0 / 0)
end)
