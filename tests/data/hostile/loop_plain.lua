-- A loop without an end.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_plain", function(task, team)
  if task.kind ~= "loop_plain" then return nil end
  while true do end
end)
