fleet.role("w", {
  profiles = { "cat" },
  hours = { { days = "sat-sun", max_busy = 6 } },
})
