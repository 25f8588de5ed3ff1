-- An answer of two megabytes.
-- place: rubric
-- says: the value is larger than 1024 KiB
fleet.route("answer_too_big", function(task, team)
  if task.kind ~= "answer_too_big" then return nil end
  return { role = "w", because = string.rep("x", 2e6) }
end)
