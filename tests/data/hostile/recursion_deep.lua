-- It goes down for ever.
-- place: rubric
-- says: stack overflow
fleet.route("recursion_deep", function(task, team)
  if task.kind ~= "recursion_deep" then return nil end
  local function down(n) return 1 + down(n + 1) end
  return down(1)
end)
