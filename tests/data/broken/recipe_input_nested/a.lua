fleet.recipe("r", { input = { parts = { "string" } } }, function(job, run) return 1 end)
