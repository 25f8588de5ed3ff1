-- It changes what the next rubric would see.
-- place: rubric
-- says: attempt to modify a readonly table
fleet.route("task_changed", function(task, team)
  if task.kind ~= "task_changed" then return nil end
  task.kind = "calm"
end)
