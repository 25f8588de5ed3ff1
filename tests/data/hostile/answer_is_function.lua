-- An answer that is no value.
-- place: rubric
-- says: a function cannot cross
fleet.route("answer_is_function", function(task, team)
  if task.kind ~= "answer_is_function" then return nil end
  return { role = print }
end)
