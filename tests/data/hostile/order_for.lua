-- The same without pairs.
-- place: recipe
-- says: FILE:6: for: a function is a key of this table, so its order differs at a replay
fleet.recipe("order_for", {}, function(job, run)
  local todo = { [print] = "print" }
  for _, name in todo do run:note(name) end
end)
