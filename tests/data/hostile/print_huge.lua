-- It logs a megabyte, again and again.
-- place: rubric
-- says: a rubric's answer
fleet.route("print_huge", function(task, team)
  if task.kind ~= "print_huge" then return nil end
  for _ = 1, 5 do print(string.rep("x", 1e6)) end
  return { printed = true }
end)
