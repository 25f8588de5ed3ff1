-- A sort whose comparison is a slow function of the library itself.
-- place: rubric
-- says: ran for more than 50 ms | out of memory: a charter's code may use 64 MiB
fleet.route("sort_by_native", function(task, team)
  if task.kind ~= "sort_by_native" then return nil end
  local big, many = table.create(5e5, "x"), {}
  for n = 1, 1000 do many[n] = big end
  table.sort(many, table.clone)
end)
