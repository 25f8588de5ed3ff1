fleet.role("w", {
  profiles = { "cat" },
  max_busy = math.huge,
})
