fleet.rote("x", function() end)
