-- A text that doubles itself.
-- place: rubric
-- says: out of memory: a charter's code may use 64 MiB
fleet.route("text_doubles", function(task, team)
  if task.kind ~= "text_doubles" then return nil end
  local text = "x"
  while true do text = text .. text end
end)
