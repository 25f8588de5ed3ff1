-- An action that nobody knows.
-- place: handler
-- says: there is no action 'burn'; valid: tell_leader, stop_worker, park_role, retry_turn
fleet.on("run_ended", function(event)
  if event.why ~= "handler_unknown_action" then return nil end
  return { action = "burn" }
end)
