-- It adds to the table through which it walks.
-- place: rubric
-- says: ran for more than 50 ms | out of memory: a charter's code may use 64 MiB
fleet.route("loop_grow_while_walking", function(task, team)
  if task.kind ~= "loop_grow_while_walking" then return nil end
  local list = { 1 }
  for n in ipairs(list) do list[n + 1] = n end
end)
