-- An error that is no text; its address would differ from run to run.
-- place: rubric
-- says: FILE:6: an error that is a table and no text
fleet.route("error_not_a_text", function(task, team)
  if task.kind ~= "error_not_a_text" then return nil end
  error({})
end)
