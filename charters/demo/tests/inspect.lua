-- How the recipe behaves, told with scripted workers: no process is started, and time is virtual.
-- `fleetd charter test` runs these, and so does every reload: a charter that fails its tests is not taken over.

local function quiet(kind)
  return function()
    return "sum\t" .. kind .. "\t3\t0\t0\t0\n"
  end
end

-- A team on which nothing goes wrong but what the test says.
local function team(t)
  for _, kind in ipairs({ "notes", "size", "slips", "tests", "flaky", "slow" }) do
    t.worker("w-" .. kind, quiet(kind))
  end
  t.worker("w-judge", function(task)
    local count = 0
    for _ in task.prompt:gmatch("sum\t%a+") do
      count = count + 1
    end
    return "high\tsrc/a.rs\t7\tlong function: f has 90 lines\nsum\tsize\t" .. count .. "\t1\t0\n"
  end)
end

fleet.test("every inspector gets every part, and the judge gets all replies", function(t)
  team(t)
  local out = t.run("inspect", { root = "/tree", parts = { "a.rs", "b.rs" } })
  t.equal(out.outcome, "done")
  t.equal(out.value.findings[1].file, "src/a.rs")
  t.equal(out.value.findings[1].line, 7)
  t.equal(out.value.sums[1].files, 10) -- two parts for four inspectors, and two errands on purpose
  t.equal(#t.sent(), 11) -- those ten and the judge
end)

fleet.test("a worker that fails and one that is too slow are named, the rest is ranked all the same", function(t)
  team(t)
  t.worker("w-flaky", function()
    return t.fail("exit 1")
  end)
  t.worker("w-slow", function()
    return t.timeout()
  end)
  local out = t.run("inspect", { root = "/tree", parts = { "a.rs" } })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.findings, 1)
  t.equal(#out.value.missing, 2)
  t.equal(out.value.missing[1].role, "w-flaky")
  t.equal(out.value.missing[2].role, "w-slow")
  t.ok(out.value.missing[1].on_purpose, "the demo says which failures it made itself")
end)

fleet.test("without a judge the gaps are still reported", function(t)
  team(t)
  t.worker("w-judge", function()
    return t.fail("exit 2")
  end)
  local out = t.run("inspect", { root = "/tree", parts = { "a.rs" } })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.findings, 0)
end)

fleet.test("no parts, nothing to do but to ask the judge", function(t)
  team(t)
  local out = t.run("inspect", { root = "/tree", parts = {} })
  t.equal(out.outcome, "done")
  t.equal(#t.sent(), 1)
end)
