fleet.recipe("hunt", {
  input = { parts = "strings[]" },
}, function(job, run) end)
