-- Where a message goes that is sent to `auto`. The rubrics are asked from the top, the first answer wins.
-- A rubric sees the task (its kind, its prompt, who sent it) and the team (its roles and how busy they are). It may
-- look and decide, nothing else. `fleetd charter route --kind count` shows the decision without sending anything.

fleet.route("counting goes to those who count", function(task)
  if task.kind == "count" then
    return { role = "w-words", because = "the task is to count" }
  end
end)

fleet.route("loud goes to those who shout", function(task)
  if task.kind == "loud" then
    return { role = "w-upper", because = "the task is to be loud" }
  end
end)

fleet.route("otherwise", function()
  return { role = "w-echo", because = "no rubric said otherwise" }
end)
