-- The same, hidden in an iterator.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("pattern_gmatch", function(task, team)
  if task.kind ~= "pattern_gmatch" then return nil end
  for _ in string.rep("a", 1e5):gmatch(".-.-.-.-b") do
  end
end)
