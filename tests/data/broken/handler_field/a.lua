fleet.on("turn_settled", function(event)
  return {
    action = "retry_turn",
    trun = event.turn,
  }
end)
fleet.test("again", function(t) t.event("turn_settled", { turn = "t1" }) end)
