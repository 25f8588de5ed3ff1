-- A send that holds itself.
-- place: recipe
-- says: run:send:  | nested deeper than 32 levels
fleet.recipe("step_send_cyclic", {}, function(job, run)
  local spec = { to = "w", prompt = "x" }
  spec.kind = spec
  return run:send(spec)
end)
