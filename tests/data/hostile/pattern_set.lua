-- A set of a million letters, looked through for each of a million bytes.
-- place: rubric
-- says: FILE:6: string.find: a text of 1000000 bytes is too long for a pattern with a set of 1000000
fleet.route("pattern_set", function(task, team)
  if task.kind ~= "pattern_set" then return nil end
  return string.rep("a", 1e6):find("[" .. string.rep("b", 1e6) .. "]*")
end)
