fleet.test("at noon", function(t)
  t.at("noon")
end)
