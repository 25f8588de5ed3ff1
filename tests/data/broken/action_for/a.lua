fleet.on("role_full", function(event)
  return { action = "park_role", role = event.role, for = "5m" }
end)
