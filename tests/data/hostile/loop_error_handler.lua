-- The handler of an error loops, and each error calls it anew.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_error_handler", function(task, team)
  if task.kind ~= "loop_error_handler" then return nil end
  xpcall(error, function()
    while true do end
  end)
end)
