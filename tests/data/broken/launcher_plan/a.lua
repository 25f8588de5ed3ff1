fleet.launcher("mine", { takes = { "model" } }, function(worker)
  return { drive = "tiped", argv = { "x" } }
end)
fleet.profile("mine", { launcher = "mine" })
fleet.role("w-mine", { profiles = { "mine" } })
