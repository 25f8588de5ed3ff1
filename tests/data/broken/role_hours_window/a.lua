fleet.role("w", {
  profiles = { "cat" },
  max_busy = 0,
  hours = {
    { between = "22:00-06:00", max_busy = 12 },
    { days = "sat-sun", max_bsy = 6 },
  },
})
