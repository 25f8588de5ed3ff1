fleet.on("turn_settled", function(event)
  return { action = "tell_leader", worker = event.worker }
end)
fleet.test("told", function(t) t.event("turn_settled", { worker = "w-local-1" }) end)
