-- A sort whose comparison is slow and not in Lua.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("sort_by_library", function(task, team)
  if task.kind ~= "sort_by_library" then return nil end
  local big, many = table.create(1e5, "x"), {}
  for n = 1, 2000 do many[n] = n end
  table.sort(many, function(a, b)
    table.concat(big)
    return a < b
  end)
end)
