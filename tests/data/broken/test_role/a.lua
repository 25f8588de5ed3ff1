fleet.test("x", function(t)
  t.worker("w-locl", function(task) return "x" end)
end)
