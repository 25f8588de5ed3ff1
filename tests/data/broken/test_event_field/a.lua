fleet.test("x", function(t)
  t.event("worker_gone", { wroker = "w-local-1" })
end)
