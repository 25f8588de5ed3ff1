-- More captures than a pattern may have.
-- place: rubric
-- says: too many captures
fleet.route("pattern_captures", function(task, team)
  if task.kind ~= "pattern_captures" then return nil end
  return ("x"):find(string.rep("()", 40))
end)
