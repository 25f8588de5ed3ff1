fleet.recipe("r", {}, function(job, run)
  local list = { 3, 1, 2 }
  table.sort(list, function(a, b) run:send({ to = "w-local", prompt = "x" }) return a < b end)
  return list
end)
fleet.test("r", function(t)
  t.worker("w-local", function() return "x" end)
  local out = t.run("r")
  t.equal(out.outcome, "done")
end)
