fleet.recipe("r", {}, function(job, run)
  local run = { 1 }
  return run:send({ to = "w-local", prompt = "x" }).text
end)
fleet.test("r", function(t)
  t.worker("w-local", function() return "x" end)
  local out = t.run("r")
  t.equal(out.outcome, "done")
end)
