-- A loop in a metamethod that is met by a look into a table.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("loop_index", function(task, team)
  if task.kind ~= "loop_index" then return nil end
  local trap = setmetatable({}, { __index = function()
    while true do end
  end })
  return trap.role
end)
