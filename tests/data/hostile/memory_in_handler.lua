-- A handler that wants more than there is.
-- place: handler
-- says: out of memory: a charter's code may use 64 MiB
fleet.on("run_ended", function(event)
  if event.why ~= "memory_in_handler" then return nil end
  return { action = "tell_leader", text = string.rep("x", 1e9) }
end)
