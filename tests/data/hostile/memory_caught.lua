-- It goes on when memory has run out.
-- place: rubric
-- says: out of memory: a charter's code may use 64 MiB
fleet.route("memory_caught", function(task, team)
  if task.kind ~= "memory_caught" then return nil end
  while true do pcall(string.rep, "x", 1e9) end
end)
