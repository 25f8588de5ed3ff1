fleet.launcher("mine", {
  takes = { "modle" },
}, function(worker) return { drive = "turn", argv = { "x" } } end)
