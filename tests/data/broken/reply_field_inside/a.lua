fleet.recipe("ask", {}, function(job, run)
  local reply = run:send({ to = "w-local", prompt = "x" })
  return run:send({ to = reply.from.wroker, prompt = "y" }).text
end)
fleet.test("it answers", function(t)
  t.worker("w-local", function() return "x" end)
  t.equal(t.run("ask").outcome, "done")
end)
