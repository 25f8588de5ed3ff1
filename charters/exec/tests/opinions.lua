-- With scripted workers: no program is started, and time is virtual. Try it with `fleetd charter test charters/exec`.

local function says(text)
  return function(task)
    return text .. " to " .. task.prompt
  end
end

fleet.test("everybody is asked, and each answer is kept by its role", function(t)
  t.worker("w-codex", says("yes"))
  t.worker("w-gemini", says("no"))
  t.worker("w-ollama", says("perhaps"))
  local out = t.run("opinions", { question = "that" })
  t.equal(out.outcome, "done")
  t.equal(out.value.said["w-codex"], "yes to that")
  t.equal(out.value.said["w-gemini"], "no to that")
  t.equal(out.value.said["w-ollama"], "perhaps to that")
end)

fleet.test("a program that fails or is too slow is named, and the others are kept", function(t)
  t.worker("w-codex", says("yes"))
  t.worker("w-gemini", function()
    return t.fail("exit 42")
  end)
  t.worker("w-ollama", function()
    return t.timeout()
  end)
  local out = t.run("opinions", { question = "that" })
  t.equal(out.outcome, "partial")
  t.equal(out.value.said["w-codex"], "yes to that")
  t.equal(#out.value.missing, 2)
  t.equal(out.value.missing[1], "w-gemini")
end)

fleet.test("who changes the project is never asked for an opinion", function(t)
  t.worker("w-codex", says("yes"))
  t.worker("w-gemini", says("yes"))
  t.worker("w-ollama", says("yes"))
  t.worker("w-aider", function()
    return t.fail("it was asked")
  end)
  t.equal(t.run("opinions", { question = "that" }).outcome, "done")
  t.equal(#t.sent(), 3)
end)
