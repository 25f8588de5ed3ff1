-- A step of something that is no run.
-- place: recipe
-- says: with a colon
fleet.recipe("step_with_a_dot", {}, function(job, run)
  return run.send({ to = "w", prompt = "x" })
end)
