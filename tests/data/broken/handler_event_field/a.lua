fleet.on("worker_gone", function(event)
  return { action = "stop_worker", worker = event.wroker }
end)
fleet.test("who is gone", function(t) t.event("worker_gone", { worker = "w-local-1" }) end)
