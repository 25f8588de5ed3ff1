-- The same question to several programs: what each says, and which of them said nothing.
-- Only those that change nothing are asked.
local ASKED = { "w-codex", "w-gemini", "w-ollama" }

fleet.recipe("opinions", {
  about = "Asks several programs the same question.",
  input = { question = "string" },
  deadline = "30m",
}, function(job, run)
  local replies = run:each(ASKED, function(role)
    return run:send({ to = role, prompt = job.question })
  end)
  local said, missing = {}, {}
  for n, reply in ipairs(replies) do
    if reply.ok then
      said[ASKED[n]] = reply.text
    else
      table.insert(missing, ASKED[n])
    end
  end
  if #missing > 0 then
    return run:partial({ said = said, missing = missing }, "no answer from " .. table.concat(missing, ", "))
  end
  return { said = said }
end)
