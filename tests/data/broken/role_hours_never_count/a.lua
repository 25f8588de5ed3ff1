fleet.role("w", {
  profiles = { "cat" },
  max_busy = 1,
  hours = {
    { days = "sat-sun", max_busy = 6 },
    { between = "22:00-23:00", days = "sun", max_busy = 12 },
  },
})
