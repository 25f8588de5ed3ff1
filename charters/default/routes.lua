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

-- A worker that lives between messages still has in mind what it just worked at. Who sends names the files
-- (`fleetd send auto --file src/parser.rs …`), and the free worker that had most of them last goes on with them.
local function common(files, knows)
  local known, count = {}, 0
  for _, file in ipairs(knows) do
    known[file] = true
  end
  for _, file in ipairs(files) do
    count = count + (known[file] and 1 or 0)
  end
  return count
end

fleet.route("who had the files goes on with them", function(task, team)
  local best, most = nil, 0
  for name, worker in pairs(team.workers) do
    local count = worker.free and common(task.files, worker.knows) or 0
    if count > most or (count == most and best and name < best) then
      best, most = name, count
    end
  end
  if best then
    return { worker = best, because = ("it had %d of the %d files in its last turns"):format(most, #task.files) }
  end
end)

fleet.route("otherwise", function()
  return { role = "w-echo", because = "no rubric said otherwise" }
end)
