-- The smallest team: one kind of worker, which needs no model. Put the command of your own agent in its place, or another
-- launcher; `fleetd charter check` says what a profile of it needs.
fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "30s" })

-- The pool to which messages are addressed, and how many of its workers may be busy at once.
fleet.role("w-upper", { profiles = { "upper" }, max_busy = 2 })

-- Where a message goes that names nobody. The first rubric that answers decides.
fleet.route("there is only one role", function()
  return { role = "w-upper" }
end)

-- What must stay true however you change it: run by `fleetd charter test`, and before each save counts.
fleet.test("a message without an address finds a worker", function(t)
  t.equal(t.route({ prompt = "hello" }).role, "w-upper")
end)
