-- A pattern that tries every way to match.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("pattern_backtracks", function(task, team)
  if task.kind ~= "pattern_backtracks" then return nil end
  return (string.rep("a", 1e5)):find(".-.-.-.-b")
end)
