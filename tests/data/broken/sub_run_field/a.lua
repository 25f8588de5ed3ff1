fleet.recipe("inner", {}, function() return 1 end)
fleet.recipe("outer", {}, function(job, run)
  return run:recipe("inner", {}).result
end)
fleet.test("it adds up", function(t)
  t.equal(t.run("outer").value, 1)
end)
