-- x
fleet.role("w", {
  profiles = { "cta" },
})
