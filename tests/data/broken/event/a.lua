fleet.on("turn_setled", function(event) end)
