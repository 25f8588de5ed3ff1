-- A walk that calls a slow function of the library for each item.
-- place: rubric
-- says: there is no table function `foreach`
fleet.route("foreach_native", function(task, team)
  if task.kind ~= "foreach_native" then return nil end
  local texts = {}
  for n = 1, 1000 do texts[n] = 2e7 end
  table.foreach(texts, string.rep)
end)
