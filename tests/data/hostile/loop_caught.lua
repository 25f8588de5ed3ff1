-- It catches the error of its limit and loops again.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_caught", function(task, team)
  if task.kind ~= "loop_caught" then return nil end
  while true do
    pcall(function()
      while true do end
    end)
  end
end)
