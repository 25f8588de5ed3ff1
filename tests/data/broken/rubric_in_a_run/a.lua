fleet.route("verdicts", function(task, team)
  if task.kind == "verdict" and team.roles["w-cluade"].free > 0 then return { role = "w-claude" } end
end)
fleet.route("otherwise", function() return { role = "w-local" } end)
fleet.recipe("judge", {}, function(job, run)
  local page = run:send { prompt = "read it", kind = "read" }
  return run:send({ prompt = page.text, kind = "verdict" }).text
end)
fleet.test("a verdict", function(t)
  t.worker("w-local", function() return "a page" end)
  t.worker("w-claude", function() return "good" end)
  t.equal(t.run("judge").value, "good")
end)
