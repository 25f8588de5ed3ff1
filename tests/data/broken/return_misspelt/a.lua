fleet.recipe("r", {}, function(job, run)
  retrun 1
end)
fleet.test("r", function(t)
  t.worker("w-local", function() return "x" end)
  local out = t.run("r")
  t.equal(out.outcome, "done")
end)
