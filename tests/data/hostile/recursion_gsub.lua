-- It goes down for ever through the library.
-- place: rubric
-- says: stack overflow | C stack overflow
fleet.route("recursion_gsub", function(task, team)
  if task.kind ~= "recursion_gsub" then return nil end
  local function down() return (("x"):gsub("x", down)) end
  return down()
end)
