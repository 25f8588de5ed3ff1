-- A note of two megabytes.
-- place: recipe
-- says: run:note: 
fleet.recipe("step_note_huge", {}, function(job, run)
  return run:note("big", string.rep("x", 2e6))
end)
