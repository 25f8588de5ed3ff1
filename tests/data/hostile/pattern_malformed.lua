-- A pattern that ends too early.
-- place: rubric
-- says: malformed pattern
fleet.route("pattern_malformed", function(task, team)
  if task.kind ~= "pattern_malformed" then return nil end
  return ("x"):find("[a")
end)
