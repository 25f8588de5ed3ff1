-- A result of nine megabytes.
-- place: recipe
-- says: the value is larger than 8192 KiB
fleet.recipe("value_too_big", {}, function(job, run)
  return string.rep("x", 9e6)
end)
