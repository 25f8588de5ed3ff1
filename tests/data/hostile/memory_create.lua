-- A table with room for everything.
-- place: rubric
-- says: out of memory: a charter's code may use 64 MiB | invalid argument | table overflow
fleet.route("memory_create", function(task, team)
  if task.kind ~= "memory_create" then return nil end
  return table.create(1e9, true)
end)
