fleet.route("all", function(task, team)
  return { role = "w-locla", because = "it is free" }
end)
fleet.test("all goes local", function(t)
  t.equal(t.route({ prompt = "x" }).role, "w-local")
end)
