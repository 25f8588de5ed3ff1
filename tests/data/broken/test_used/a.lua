fleet.recipe("r", {}, function(job, run)
  return run:send({ to = "w-local", prompt = "x" }).text
end)
fleet.test("costs", function(t)
  t.worker("w-local", function() return t.reply("x", { tokens = 5 }) end)
  t.run("r")
end)
