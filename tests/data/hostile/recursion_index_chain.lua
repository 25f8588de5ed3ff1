-- A table that is looked up in itself.
-- place: rubric
-- says: loop in gettable | chain too long | possibly a loop
fleet.route("recursion_index_chain", function(task, team)
  if task.kind ~= "recursion_index_chain" then return nil end
  local trap = {}
  setmetatable(trap, { __index = trap })
  return trap.role
end)
