fleet.profile("cat", {
  launcher = "exec",
  command = { "cat" },
  grants = { "aks" },
})
fleet.role("w", { profiles = { "cat" } })
