-- Parts in parts in parts, for ever.
-- place: recipe
-- says: run:each is nested deeper than 16 levels
fleet.recipe("step_each_deep", {}, function(job, run)
  local function deeper() return run:each({ 1 }, deeper) end
  return deeper()
end)
