fleet.test("x", function() t.equal(1, 1) end)
