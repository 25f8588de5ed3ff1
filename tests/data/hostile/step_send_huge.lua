-- A prompt of two megabytes.
-- place: recipe
-- says: run:send: the value is larger than 1024 KiB
fleet.recipe("step_send_huge", {}, function(job, run)
  return run:send { to = "w", prompt = string.rep("x", 2e6) }
end)
