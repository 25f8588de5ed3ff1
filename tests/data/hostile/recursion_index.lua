-- A metamethod that meets itself.
-- place: rubric
-- says: stack overflow | C stack overflow
fleet.route("recursion_index", function(task, team)
  if task.kind ~= "recursion_index" then return nil end
  local trap = {}
  setmetatable(trap, { __index = function(_, key) return trap[key .. "x"] end })
  return trap.role
end)
