-- The same, hidden in a replacement.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("pattern_gsub", function(task, team)
  if task.kind ~= "pattern_gsub" then return nil end
  return (string.rep("a", 1e5):gsub(".-.-.-.-b", ""))
end)
