fleet.on("turn_settled", function(event)
  return { action = "park_role", role = "w-local", ["for"] = "a while" }
end)
fleet.test("parked", function(t) t.event("turn_settled", {}) end)
