-- Many large texts joined to one.
-- place: rubric
-- says: out of memory: a charter's code may use 64 MiB | ran for more than 50 ms
fleet.route("text_concat", function(task, team)
  if task.kind ~= "text_concat" then return nil end
  local parts = {}
  for n = 1, 1000 do parts[n] = string.rep(tostring(n), 1e6) end
  return table.concat(parts)
end)
