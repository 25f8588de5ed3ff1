-- With scripted workers: no agent is started, and time is virtual.

local function seeker(task)
  local file = task.prompt:match("bugs in (%S+)%.")
  if file == "clean" then
    return {}
  end
  return { { file = file, line = 3, why = "off by one", proof = "f(0)" } }
end

local function doubter(real)
  return function(task)
    return { real = real(task.prompt), because = "so it is" }
  end
end

fleet.test("what two of three can show counts", function(t)
  t.worker("w-seeker", seeker)
  t.worker(
    "w-doubter",
    doubter(function(prompt)
      return prompt:find("wrong", 1, true) == nil or prompt:find("by running it", 1, true) ~= nil
    end)
  )
  local out = t.run("bug-hunt", { parts = { "right", "wrong", "clean" } })
  t.equal(out.outcome, "done")
  t.equal(#out.value.bugs, 1)
  t.equal(out.value.bugs[1].file, "right")
  t.equal(out.value.refuted[1].file, "wrong")
end)

fleet.test("the same find of two parts is doubted once", function(t)
  t.worker("w-seeker", function()
    return { { file = "same", line = 1, why = "x", proof = "y" } }
  end)
  t.worker(
    "w-doubter",
    doubter(function()
      return true
    end)
  )
  t.equal(#t.run("bug-hunt", { parts = { "a", "b" } }).value.bugs, 1)
end)

fleet.test("parts that were not searched are named, and the others are kept", function(t)
  t.worker("w-seeker", function(task)
    if task.prompt:find("gone", 1, true) then
      return t.lost()
    end
    return seeker(task)
  end)
  t.worker(
    "w-doubter",
    doubter(function()
      return true
    end)
  )
  local out = t.run("bug-hunt", { parts = { "right", "gone" } })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.bugs, 1)
  t.equal(out.value.missing[1].item, "gone")
  t.equal(t.run("bug-hunt", { parts = { "gone" } }).outcome, "failed")
end)

local function found(findings)
  return function()
    return findings
  end
end

fleet.test("two bugs of one file are two, also where no line is said", function(t)
  t.worker(
    "w-seeker",
    found({ { file = "a", why = "off by one", proof = "x" }, { file = "a", why = "leaks", proof = "y" } })
  )
  t.worker(
    "w-doubter",
    doubter(function()
      return true
    end)
  )
  local out = t.run("bug-hunt", { parts = { "a" } })
  t.equal(#out.value.bugs, 2)
  t.equal(out.value.bugs[2].why, "leaks")
  t.equal(out.value.bugs[1].said[1].because, "so it is")
end)

fleet.test("finds beyond `most` are given back, and the run says that they were not judged", function(t)
  t.worker("w-seeker", seeker)
  t.worker(
    "w-doubter",
    doubter(function()
      return true
    end)
  )
  local out = t.run("bug-hunt", { parts = { "a", "b", "c" }, most = 2 })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.bugs, 2)
  t.equal(out.value.not_judged[1].file, "c")
end)

fleet.test("a hunt for nothing is refused before anybody is paid", function(t)
  for _, job in ipairs({ { parts = {} }, { parts = { "a" }, most = 0 }, { parts = { "a" }, most = -1 } }) do
    t.equal(t.run("bug-hunt", job).outcome, "failed")
  end
  t.equal(#t.sent(), 0)
end)

fleet.test("what nobody could judge is undecided, with what was in the way", function(t)
  t.worker("w-seeker", seeker)
  t.worker("w-doubter", function()
    return t.fail("no model")
  end)
  local out = t.run("bug-hunt", { parts = { "a" } })
  t.equal(out.outcome, "partial")
  t.equal(#out.value.bugs + #out.value.refuted, 0)
  t.equal(out.value.undecided[1].said[1].because, "no model")
end)

fleet.test("a claim goes to those who doubt", function(t)
  t.equal(t.route({ kind = "claim", prompt = "x" }).role, "w-doubter")
  t.equal(t.route({ kind = "search", prompt = "x" }).role, "w-seeker")
end)
