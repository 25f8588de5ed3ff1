-- A result that is no value.
-- place: recipe
-- says: a function cannot cross
fleet.recipe("value_is_function", {}, function(job, run)
  return { run.send }
end)
