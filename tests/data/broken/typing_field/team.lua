fleet.profile("cat", {
  launcher = "typed",
  command = { "bash" },
  typing = {
    promt = { "$ " },
  },
})
fleet.role("w", { profiles = { "cat" } })
