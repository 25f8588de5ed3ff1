-- A loop in a replacement.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_gsub", function(task, team)
  if task.kind ~= "loop_gsub" then return nil end
  local text = string.rep("x", 100)
  text:gsub("x", function()
    while true do end
  end)
end)
