-- A loop where two values are joined.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_concat", function(task, team)
  if task.kind ~= "loop_concat" then return nil end
  local trap = setmetatable({}, { __concat = function()
    while true do end
  end })
  return trap .. trap
end)
