fleet.recipe("hunt", { deadline = "5m" })
