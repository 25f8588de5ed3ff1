-- A launcher that never comes to a plan.
-- place: load
-- says: ran for more than 50 ms
fleet.launcher("stuck", {}, function()
  while true do end
end)
fleet.profile("stuck", { launcher = "stuck" })
fleet.role("w-stuck", { profiles = { "stuck" } })
