fleet.route("all", function() return { role = "w-local" } end)
fleet.route("all", function() return { role = "w-claude" } end)
