fleet.recipe("hunt", {}, function(job, run) return 1 end)
fleet.test("x", function(t)
  t.equal(t.run("hnut").outcome, "done")
end)
