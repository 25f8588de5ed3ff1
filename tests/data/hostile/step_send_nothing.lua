-- A send of nothing.
-- place: recipe
-- says: run:send: expected a table of fields, got nothing
fleet.recipe("step_send_nothing", {}, function(job, run)
  return run:send(nil)
end)
