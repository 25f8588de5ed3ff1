-- A loop that counts to infinity.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_numeric", function(task, team)
  if task.kind ~= "loop_numeric" then return nil end
  for _ = 1, math.huge do
  end
end)
