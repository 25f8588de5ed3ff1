-- A search without a pattern, quadratic where it is done badly.
-- place: rubric
-- says: a rubric's answer
fleet.route("find_plain", function(task, team)
  if task.kind ~= "find_plain" then return nil end
  return { found = string.rep("a", 1e6):find(string.rep("a", 5e5) .. "b", 1, true) or "no" }
end)
