-- A text larger than all the memory.
-- place: rubric
-- says: out of memory: a charter's code may use 64 MiB
fleet.route("text_rep", function(task, team)
  if task.kind ~= "text_rep" then return nil end
  return string.rep("x", 1e9)
end)
