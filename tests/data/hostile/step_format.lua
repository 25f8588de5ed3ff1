-- A format that does not fit.
-- place: recipe
-- says: run:progress: 
fleet.recipe("step_format", {}, function(job, run)
  run:progress("%d", "x")
end)
