-- A result that holds itself.
-- place: recipe
-- says: nested deeper than 32 levels
fleet.recipe("value_cyclic", {}, function(job, run)
  local value = {}
  value[1] = value
  return value
end)
