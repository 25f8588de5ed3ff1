fleet.test("x", function(t)
  t.equals(1, 1)
end)
