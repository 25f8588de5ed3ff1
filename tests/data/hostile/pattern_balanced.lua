-- Brackets that never close, looked for from each of them.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("pattern_balanced", function(task, team)
  if task.kind ~= "pattern_balanced" then return nil end
  return string.rep("(", 3e5):find("%b()")
end)
