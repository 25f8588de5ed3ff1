-- It goes down for ever, catching the error at each level.
-- place: rubric
-- says: stack overflow | C stack overflow | ran for more than 50 ms
fleet.route("recursion_pcall", function(task, team)
  if task.kind ~= "recursion_pcall" then return nil end
  local function down()
    pcall(down)
    return down()
  end
  return down()
end)
