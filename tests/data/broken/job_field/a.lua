fleet.recipe("ask", { input = { parts = "string[]", most = "integer?" } }, function(job, run)
  return #job.prats
end)
fleet.test("it counts", function(t)
  t.equal(t.run("ask", { parts = { "a" } }).outcome, "done")
end)
