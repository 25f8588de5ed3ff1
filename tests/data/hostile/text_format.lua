-- A format with an absurd width.
-- place: rubric
-- says: invalid format
fleet.route("text_format", function(task, team)
  if task.kind ~= "text_format" then return nil end
  return string.format("%99999d", 1)
end)
