-- `agentapi`: whatever agent an AgentAPI server (coder/agentapi 0.12) has in its terminal. It reads a screen, so its replies
-- are what stood there, and it knows of no tools, no figures and no failures: where an agent has a launcher of its own, take that.

-- A text for which it was not ready is not written to its terminal.
local UNTAKEN = { "waiting for user input", "must be trimmed", "must not be empty" }

local function api(worker)
  local function on(event, more)
    local on = { event = event }
    for path, value in pairs(more or {}) do
      on[path] = value
    end
    return on
  end
  local signs = {
    { is = "taken", on = on("message_update", { ["data.role"] = "user" }), text = "data.message" },
    -- Told whole again at each change of the screen, and at the begin of each stream: nothing is counted.
    { is = "said", on = on("message_update", { ["data.role"] = "agent" }) },
    { is = "rested", on = on("status_change", { ["data.status"] = "stable" }) },
    { is = "failed", on = on("agent_error"), why = "data.message" },
  }
  return signs,
    {
      types = true,
      ready = { path = "/status", on = { status = "stable" } },
      say = { path = "/message", body = { type = "user", content = worker.text }, untaken = UNTAKEN },
      -- It has no call for that: the key that its agent knows.
      stop = { path = "/message", body = { type = "raw", content = worker.options.interrupt or "\27" } },
      rest = { path = "/status", on = { status = "stable" } },
      record = {
        call = { path = "/messages" },
        list = "messages",
        proof = "screen",
        signs = {
          { is = "taken", on = { role = "user" }, text = "content" },
          { is = "replied", on = { role = "agent" }, text = "content" },
        },
      },
      -- Without a beat: a stream that is silent may live.
      events = { path = "/events" },
    }
end

fleet.launcher("agentapi", {
  about = "An agent in the terminal of an AgentAPI server. With an `endpoint` (the server's address) fleetd attaches to one that runs; with a `command` it starts one, which listens on all interfaces without any proof: `[launch] allow_exposed = true` must allow that.",
  takes = { "endpoint", "command", "typing" },
  options = {
    type = "With a `command`: which agent it is, in AgentAPI's own words; `custom` if absent.",
    interrupt = "The keys that make the agent stop; Esc if absent.",
  },
}, function(worker)
  local signs, calls = api(worker)
  local plan = { drive = "api", signs = signs, api = calls }
  if worker.endpoint and worker.command then
    error("a profile of agentapi has either an endpoint (a server that runs) or a command (for one that is started)", 0)
  elseif worker.endpoint then
    calls.attach = true
  elseif worker.command then
    calls.exposed = true
    plan.argv = { "agentapi", "server", "--type", worker.options.type or "custom", "--port", worker.port, "--" }
    for _, word in ipairs(worker.command) do
      table.insert(plan.argv, word)
    end
  else
    error("a profile of agentapi needs an endpoint (a server that runs) or a command (for one that is started)", 0)
  end
  return plan
end)
