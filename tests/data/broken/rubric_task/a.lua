fleet.route("bulk", function(task, team)
  if task.knid == "bulk" then return { role = "w-local" } end
end)
fleet.test("bulk goes local", function(t)
  t.equal(t.route({ kind = "bulk" }).role, "w-local")
end)
