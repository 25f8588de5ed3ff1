-- A pattern that compares each byte with a long set, again and again.
-- place: rubric
-- says: ran for more than 50 ms
fleet.route("pattern_slow_set", function(task, team)
  if task.kind ~= "pattern_slow_set" then return nil end
  local text, pattern = string.rep("a", 2e5), "^[^" .. string.rep("b", 94) .. "]*"
  for _ = 1, 1e9 do
    text:find(pattern)
  end
end)
