-- A long text, searched again and again.
-- place: recipe
-- says: ran for more than 100 ms without waiting
fleet.recipe("find_plain_again", {}, function(job, run)
  local text, wanted = string.rep("ab", 4e6), string.rep("ab", 1e5) .. "c"
  for _ = 1, 1e9 do
    text:find(wanted, 1, true)
  end
end)
