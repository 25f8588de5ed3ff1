-- A sort by the library's own comparison, of texts that differ only at their ends.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("sort_long_texts", function(task, team)
  if task.kind ~= "sort_long_texts" then return nil end
  local long, many = {}, {}
  for n = 1, 20 do long[n] = string.rep("a", 500000) .. n end
  for n = 1, 10000 do many[n] = long[n % 20 + 1] end
  table.sort(many)
end)
