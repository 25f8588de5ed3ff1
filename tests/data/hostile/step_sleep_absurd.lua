-- A sleep into the past.
-- place: recipe
-- says: run:sleep: 
fleet.recipe("step_sleep_absurd", {}, function(job, run)
  run:sleep(-1e300)
end)
