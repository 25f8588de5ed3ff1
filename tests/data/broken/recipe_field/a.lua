fleet.recipe("hunt", {
  inptu = { parts = "string[]" },
}, function(job, run) end)
