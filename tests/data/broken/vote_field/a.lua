fleet.recipe("ask", {}, function(job, run)
  local voted = run:vote({ 1, 2, 3 }, function() return "yes" end)
  return voted.decision
end)
fleet.test("it decides", function(t)
  t.equal(t.run("ask").outcome, "done")
end)
