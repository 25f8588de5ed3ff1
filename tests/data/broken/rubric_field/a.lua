fleet.route("all", function(task, team)
  return {
    rol = "w-local",
  }
end)
fleet.test("all goes local", function(t)
  t.equal(t.route({ prompt = "x" }).role, "w-local")
end)
