fleet.recipe("hunt", {}, function(job, run)
  return run:send({
    to = "w-local",
    promt = "x",
  })
end)
fleet.test("it ends", function(t)
  t.worker("w-local", function(task) return "x" end)
  t.equal(t.run("hunt").outcome, "done")
end)
