fleet.recipe("ask", {}, function(job, run)
  local reply = run:send({ to = "w-local", prompt = "x" })
  if reply.okay then return reply.text end
end)
fleet.test("it answers", function(t)
  t.worker("w-local", function() return "x" end)
  t.equal(t.run("ask").value, "x")
end)
