fleet.on("turn_settled", function(event)
  return { action = "park_role", role = "w-locla", ["for"] = "5m" }
end)
fleet.test("parked", function(t) t.event("turn_settled", { outcome = "lost" }) end)
