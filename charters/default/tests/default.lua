-- Tests of this charter. They run before a saved charter is taken over, with scripted workers and virtual time:
-- try them with `fleetd charter test`.

fleet.test("each kind of task finds its role", function(t)
  t.equal(t.route({ kind = "count", prompt = "a b" }).role, "w-words")
  t.equal(t.route({ kind = "loud", prompt = "a b" }).role, "w-upper")
  t.equal(t.route({ prompt = "a b" }).role, "w-echo")
end)

fleet.test("who had the files goes on with them, if it is free", function(t)
  local team = {
    workers = {
      ["w-echo-1"] = { knows = { "src/a.rs" } },
      ["w-echo-2"] = { knows = { "src/b.rs", "src/a.rs" } },
      ["w-echo-3"] = { knows = { "src/a.rs", "src/b.rs", "src/c.rs" }, free = false },
    },
  }
  t.equal(t.route({ files = { "src/a.rs", "src/b.rs" } }, team).worker, "w-echo-2")
  t.equal(t.route({ files = { "src/a.rs" } }, team).worker, "w-echo-1")
  t.equal(t.route({ files = { "src/c.rs" } }, team).role, "w-echo")
  t.equal(t.route({ prompt = "a b" }, team).role, "w-echo")
end)

local function counting(task)
  local words = 0
  for _ in task.prompt:gmatch("%S+") do
    words = words + 1
  end
  return tostring(words)
end

fleet.test("the pieces of a text add up", function(t)
  t.worker("w-words", counting)
  local out = t.run("count-words", { text = "one two\nthree\n\nfour", lines = 1 })
  t.equal(out.outcome, "done")
  t.equal(out.value.words, 4)
  t.equal(out.value.pieces, 3)
end)

fleet.test("a piece that cannot be counted is named, the others are kept", function(t)
  t.worker("w-words", function(task)
    if task.prompt:find("bad", 1, true) then
      return t.fail("exit 1")
    end
    return counting(task)
  end)
  local out = t.run("count-words", { text = "one two\nbad\nthree", lines = 1 })
  t.equal(out.outcome, "partial")
  t.equal(out.value.words, 3)
  t.equal(#out.value.missing, 1)
  t.equal(out.value.missing[1].part, 2)
end)

fleet.test("an empty text has no words", function(t)
  t.worker("w-words", counting)
  t.equal(t.run("count-words", { text = "" }).value.words, 0)
end)
