-- A loop whose step is nothing.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_step_zero", function(task, team)
  if task.kind ~= "loop_step_zero" then return nil end
  for _ = 10, 1, 0 do
  end
end)
