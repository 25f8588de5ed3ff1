fleet.route("all", function()
  { role = "w-local" }
end)
