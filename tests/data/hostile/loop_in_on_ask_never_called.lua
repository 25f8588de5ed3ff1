-- A loop in a function that nobody calls costs nothing.
-- place: recipe
-- says: ok
fleet.recipe("loop_in_on_ask_never_called", {}, function(job, run)
  local reply = run:send { to = "w", prompt = "hello", on_ask = function()
    while true do end
  end }
  return reply.text
end)
