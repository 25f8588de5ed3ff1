-- A scripted worker that never answers.
-- place: load
-- says: ran for more than 50 ms
fleet.recipe("asks_once", {}, function(job, run)
  return run:send({ to = "w", prompt = "x" }).text
end)
fleet.test("never answered", function(t)
  t.worker("w", function()
    while true do end
  end)
  t.equal(t.run("asks_once").outcome, "done")
end)
