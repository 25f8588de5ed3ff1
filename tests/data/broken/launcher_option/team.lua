fleet.profile("c", {
  launcher = "claude",
  options = { permision_mode = "x" },
})
fleet.role("w", { profiles = { "c" } })
