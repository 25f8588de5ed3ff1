-- Tables in tables in tables.
-- place: rubric
-- says: out of memory: a charter's code may use 64 MiB | ran for more than 50 ms
fleet.route("memory_tables", function(task, team)
  if task.kind ~= "memory_tables" then return nil end
  local held = {}
  while true do held = { held, {}, {}, {} } end
end)
