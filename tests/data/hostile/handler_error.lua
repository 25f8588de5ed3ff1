-- A handler that is in error.
-- place: handler
-- says: FILE:6: no
fleet.on("run_ended", function(event)
  if event.why ~= "handler_error" then return nil end
  error("no")
end)
