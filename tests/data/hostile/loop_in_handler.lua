-- A handler of an event that never ends.
-- place: handler
-- says: ran for more than 50 ms
fleet.on("run_ended", function(event)
  if event.why ~= "loop_in_handler" then return nil end
  while true do end
end)
