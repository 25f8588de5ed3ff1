-- A function for each number.
-- place: rubric
-- says: out of memory: a charter's code may use 64 MiB | ran for more than 50 ms
fleet.route("memory_closures", function(task, team)
  if task.kind ~= "memory_closures" then return nil end
  local held = {}
  while true do
    local n = #held
    held[n + 1] = function() return n end
  end
end)
