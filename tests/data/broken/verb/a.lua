fleet.recpie("hunt", {}, function(job, run) end)
