fleet.recipe("paint", {}, function(job, run)
  return run:send({
    to = "w-local",
    prompt = "paint",
    on_ask = function(question) return question.txet end,
  }).text
end)
fleet.test("it is told", function(t)
  t.worker("w-local", function() return t.ask("which?") end)
  t.equal(t.run("paint").outcome, "done")
end)
