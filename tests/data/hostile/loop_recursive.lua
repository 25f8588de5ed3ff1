-- It calls itself for ever, which is no loop here.
-- place: rubric
-- says: stack overflow
fleet.route("loop_recursive", function(task, team)
  if task.kind ~= "loop_recursive" then return nil end
  local function again() return again() end
  return again()
end)
