-- Tables as keys: each VM would walk them in another order.
-- place: recipe
-- says: FILE:7: pairs: a table is a key of this table, so its order differs at a replay
fleet.recipe("order_pairs", {}, function(job, run)
  local todo = {}
  for n = 1, 40 do todo[{ name = n }] = true end
  for part in pairs(todo) do run:note("part " .. part.name) end
end)
