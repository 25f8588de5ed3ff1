fleet.recipe("ask", {}, function(job, run)
  return run:send({ to = "w-local", prompt = "x" }).text
end)
fleet.test("it answers", function(t)
  t.worker("w-local", function(task) return task.promt end)
  t.equal(t.run("ask").outcome, "done")
end)
