-- A loop where a value is made a text.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_tostring", function(task, team)
  if task.kind ~= "loop_tostring" then return nil end
  local trap = setmetatable({}, { __tostring = function()
    while true do end
  end })
  return tostring(trap)
end)
