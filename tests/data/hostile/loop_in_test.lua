-- A test that never ends.
-- place: load
-- says: ran for more than 500 ms without waiting
fleet.test("loop_in_test", function(t)
  while true do end
end)
