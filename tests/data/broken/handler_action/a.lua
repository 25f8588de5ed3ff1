fleet.on("worker_gone", function(event)
  if event.role ~= "w-local" then return end
  return { action = "stop_workr", worker = event.worker }
end)
fleet.test("who is gone", function(t)
  t.equal(#t.event("worker_gone", { worker = "w-claude-1", role = "w-claude" }), 0)
  t.event("worker_gone", { worker = "w-local-1", role = "w-local" })
end)
