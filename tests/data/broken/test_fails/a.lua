fleet.recipe("hunt", {}, function(job, run)
  local reply = run:send({ to = "w-local", prompt = "look" })
  run:progress("looked")
  return reply.text
end)
fleet.test("it finds two", function(t)
  t.worker("w-local", function(task) return "one" end)
  t.equal(t.run("hunt").value, "two")
end)
