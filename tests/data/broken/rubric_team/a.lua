fleet.route("bulk", function(task, team)
  if team.roles["w-locl"].free > 0 then return { role = "w-local" } end
end)
fleet.test("bulk goes local", function(t)
  t.equal(t.route({ kind = "bulk" }).role, "w-local")
end)
