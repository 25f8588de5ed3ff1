fleet.test("x", function(t)
  t.event("worker_gon", {})
end)
