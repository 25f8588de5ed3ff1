fleet.route("all", { role = "w-local" })
