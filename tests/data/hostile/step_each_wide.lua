-- Ten thousand parts with ten thousand parts each.
-- place: recipe
-- says: out of memory: a charter's code may use 64 MiB | ran for more than 100 ms without waiting | run:each
fleet.recipe("step_each_wide", {}, function(job, run)
  local many = table.create(10000, 1)
  return run:each(many, function()
    return run:each(many, function() run:sleep("1h") end)
  end)
end)
