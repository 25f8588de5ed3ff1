-- An error whose text is a megabyte.
-- place: rubric
-- says: FILE:6: xxx
fleet.route("error_text_huge", function(task, team)
  if task.kind ~= "error_text_huge" then return nil end
  error(string.rep("x", 1e6))
end)
