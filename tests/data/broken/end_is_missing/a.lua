fleet.route("all", function(task)
  if task.kind == "bulk" then
    return { role = "w-local" }
end)

fleet.route("rest", function() return { role = "w-claude" } end)
