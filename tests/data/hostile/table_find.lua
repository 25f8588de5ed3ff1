-- A long table, looked through again and again.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("table_find", function(task, team)
  if task.kind ~= "table_find" then return nil end
  local list = table.create(1e6, 1)
  for _ = 1, 1e9 do
    table.find(list, 2)
  end
end)
