-- A loop in the comparison of a sort.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_sort", function(task, team)
  if task.kind ~= "loop_sort" then return nil end
  table.sort({ 3, 2, 1 }, function()
    while true do end
  end)
end)
