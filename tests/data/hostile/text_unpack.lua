-- More values on the stack than it holds, over and over.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("text_unpack", function(task, team)
  if task.kind ~= "text_unpack" then return nil end
  while true do pcall(table.unpack, {}, 1, 5e5) end
end)
