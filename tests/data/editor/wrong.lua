-- Wrong on purpose: the Lua language server must find what the comment at the end of a line names, and nothing else.
-- It cannot see a field too many in a table that is being written (`max_bussy` in a role): `fleetd charter check` does.

fleet.profile("p", { launcher = "exec", command = { "cat" } })
fleet.role("w", { profiles = { "p" } })
fleet.profile(3, { launcher = "exec" }) -- param-type-mismatch
fleet.profile("q", "exec") -- param-type-mismatch
fleet.rout("a verb that there is not", function() end) -- undefined-field

fleet.route("asks for fields that no task and no team has", function(task, team)
  if task.knd == "bulk" then return { role = "w" } end -- undefined-field
  if team.roles.w.fre > 1 then return { role = "w", because = 3 } end -- undefined-field
  if task.kind == "none" then return nil end
end)

fleet.recipe("misspelt", { input = { part = "string" } }, function(job, run)
  local reply = run:send { to = "w", promt = job.part } -- missing-fields
  run:sned { to = "w", prompt = job.part } -- undefined-field
  run:sleep({}) -- param-type-mismatch
  return reply.txt -- undefined-field
end)

fleet.on("turn_setled", function(event) end) -- param-type-mismatch
fleet.on("turn_settled", function(event)
  return { action = "tell_leader", text = event.trn } -- undefined-field
end)

fleet.test("misspelt", function(t)
  t.rn("misspelt", {}) -- undefined-field
end)

print(os.time(), collectgarbage("count"), loadstring) -- undefined-global
print(math.random(), ("x"):uper(), table.getn({})) -- undefined-field
print(table.clone({}), string.split("a,b"), math.clamp(1, 2, 3), utf8.len("x"), bit32.band(1, 2), "\u{A0}")
