-- A test that waits again and again, and so never uses up what it has between two waits.
-- place: load
-- says: the tests of the charter took more than 5 s
fleet.test("tests_without_end", function(t)
  while true do t.route({ kind = "calm" }) end
end)
