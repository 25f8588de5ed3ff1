-- A loop in the comparison of two tables.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_compare", function(task, team)
  if task.kind ~= "loop_compare" then return nil end
  local meta = { __lt = function()
    while true do end
  end }
  return setmetatable({}, meta) < setmetatable({}, meta)
end)
