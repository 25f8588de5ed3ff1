fleet.role("w", {
  profiles = { "cat" },
  between = "22:00-06:00",
  days = "Monday",
})
