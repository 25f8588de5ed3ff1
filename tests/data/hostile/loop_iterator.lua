-- An iterator that has always one more.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_iterator", function(task, team)
  if task.kind ~= "loop_iterator" then return nil end
  for _ in function() return 1 end do
  end
end)
