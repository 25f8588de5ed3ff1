-- `opencode`: opencode in a pane of its own, where a person can watch it, given its texts over its own HTTP API. Nothing is
-- typed. Seen on 1.18.5 and 1.18.34. Versions move fast: what is here stands in tests with the real program.

-- The variables that its tools must not see; and those by which it lives in its private folder, while its tools shall live
-- where the worker's user does.
local SECRETS = { "OPENCODE_SERVER_PASSWORD", "OPENCODE_FLEET_KEY", "FLEET_TOKEN" }
local PRIVATE = { "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME" }

-- A plugin of ours: hygiene for the commands that its model runs, and nothing else.
local function plugin(worker)
  local lines = { "export const Fleet = async () => ({", '  "shell.env": async (_input, output) => {' }
  for _, name in ipairs(SECRETS) do
    table.insert(lines, ('    output.env.%s = ""'):format(name))
  end
  for _, name in ipairs(PRIVATE) do
    table.insert(lines, ('    output.env.%s = ""'):format(name))
  end
  table.insert(lines, "    output.env.HOME = process.env.OPENCODE_FLEET_HOME")
  table.insert(lines, "  },")
  table.insert(lines, "})")
  return table.concat(lines, "\n") .. "\n"
end

local function config(worker)
  local options = worker.options
  local cost = options.cost or {}
  local permission = { ["*"] = "allow" }
  for tool, rule in pairs(options.permission or {}) do
    permission[tool] = rule
  end
  -- It would ask a person who is not there, and wait for ever.
  permission.question = "deny"
  return {
    autoupdate = false,
    share = "disabled",
    -- Its own copies of the project around every step: they double the time of a turn, and the worktree is in git.
    snapshot = false,
    model = "fleet/" .. worker.model,
    small_model = "fleet/" .. worker.model,
    enabled_providers = { "fleet" },
    provider = {
      fleet = {
        npm = "@ai-sdk/openai-compatible",
        name = worker.endpoint.name,
        options = {
          baseURL = worker.endpoint.url,
          apiKey = "{env:OPENCODE_FLEET_KEY}",
          -- It would wait for ever for a model that says nothing.
          headerTimeout = 300000,
          chunkTimeout = 300000,
        },
        models = {
          [worker.model] = {
            name = worker.model,
            tool_call = true,
            reasoning = false,
            attachment = false,
            limit = { context = options.context or 128000, output = options.output or 8192 },
            cost = {
              input = cost.input or 0,
              output = cost.output or 0,
              cache_read = cost.cache_read or 0,
              cache_write = cost.cache_write or 0,
            },
          },
        },
      },
    },
    mcp = {
      fleet = { type = "remote", url = worker.url .. "/mcp", enabled = true, oauth = false, timeout = 60000 },
    },
    permission = permission,
    agent = { title = { disable = true } },
    compaction = { auto = options.compaction ~= false },
    instructions = { worker.home .. "/FLEET.md", worker.home .. "/RULES.md" },
  }
end

local function files(worker)
  local folder = "config/opencode/"
  return {
    [folder .. "opencode.json"] = config(worker),
    [folder .. "plugin/fleet.js"] = plugin(worker),
    ["FLEET.md"] = worker.identity .. "\n",
    -- It would install this package from the network, and wait for that before it loads a plugin.
    [folder .. "node_modules/.fleet"] = "",
    [folder .. "package.json"] = { dependencies = { ["@opencode-ai/plugin"] = "*" } },
    [folder .. "package-lock.json"] = {
      lockfileVersion = 3,
      packages = { [""] = { dependencies = { ["@opencode-ai/plugin"] = "*" } } },
    },
  }
end

local function bring(worker)
  local bring = {
    -- Its own rule: AGENTS.md, and CLAUDE.md where there is none.
    { from = "CLAUDE.md", to = "RULES.md", imports = true },
    { from = "AGENTS.md", to = "RULES.md" },
    { from = ".claude/skills", to = "config/opencode/skills", only = worker.options.skills },
  }
  if worker.options.mcp then
    table.insert(
      bring,
      { from = "opencode.json", to = "config/opencode/opencode.json", table = "mcp", only = worker.options.mcp }
    )
  end
  return bring
end

-- Its home is its private folder: a folder `.opencode` in a person's home would win over everything said here.
local function env(worker)
  local home = worker.home
  return {
    HOME = home,
    OPENCODE_FLEET_HOME = worker.user_home,
    XDG_CONFIG_HOME = home .. "/config",
    XDG_DATA_HOME = home .. "/data",
    XDG_STATE_HOME = home .. "/state",
    XDG_CACHE_HOME = home .. "/cache",
    OPENCODE_SERVER_PASSWORD = worker.password,
    OPENCODE_FLEET_KEY = worker.endpoint.key,
    -- The project's own settings could move its requests, deny it tools and run plugins.
    OPENCODE_DISABLE_PROJECT_CONFIG = "1",
    OPENCODE_DISABLE_CLAUDE_CODE = "1",
    OPENCODE_DISABLE_AUTOUPDATE = "1",
    OPENCODE_DISABLE_MODELS_FETCH = "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD = "1",
    OPENCODE_DISABLE_SHARE = "1",
  }
end

-- What it answers: each answer of its model is an entry, and a turn's last one is complete and calls no tool.
local function record(worker)
  local usage = {
    input = "info.tokens.input",
    output = "info.tokens.output",
    cache_read = "info.tokens.cache.read",
    cache_write = "info.tokens.cache.write",
    cost = "info.cost",
  }
  local assistant = { ["info.role"] = "assistant" }
  return {
    -- One turn at the most, with what came before it.
    call = { path = ("/session/%s/message?limit=%d"):format(worker.conversation, (worker.options.most or 500) + 20) },
    parent = "info.parentID",
    signs = {
      {
        is = "taken",
        on = { ["info.role"] = "user" },
        text = "parts",
        pieces = { on = { type = "text" } },
        id = "info.id",
      },
      -- What it sums up for itself when its context is full.
      { is = "nothing", any = { "info.summary" } },
      { is = "interrupted", on = { ["info.error.name"] = "MessageAbortedError" }, usage = usage },
      {
        is = "failed",
        any = { "info.error" },
        why = "info.error.name",
        text = "info.error.data.message",
        model = "info.modelID",
        usage = usage,
      },
      { is = "goes_on", on = { ["info.finish"] = "tool-calls" }, model = "info.modelID", usage = usage },
      {
        is = "replied",
        on = assistant,
        any = { "info.time.completed" },
        model = "info.modelID",
        usage = usage,
        text = "parts",
        -- What a retried step had said before it broke stands before its second begin.
        pieces = { on = { type = "text" }, none = { "synthetic", "ignored" }, after = { type = "step-start" } },
      },
      { is = "said", on = assistant },
    },
  }
end

-- What its events mean. Its helpers have sessions of their own, whose rest is not its own.
local function signs(worker)
  local function on(kind, more)
    local on = { ["data.type"] = kind }
    for path, value in pairs(more or {}) do
      on[path] = value
    end
    return on
  end
  local own = { ["data.properties.sessionID"] = worker.conversation }
  return {
    {
      is = "taken",
      text = "data.properties.part.text",
      id = "data.properties.part.messageID",
      on = on("message.part.updated", { ["data.properties.part.metadata.delivery"] = worker.turn }),
    },
    { is = "rested", on = on("session.idle", own) },
    {
      is = "failed",
      on = on("session.error", own),
      why = "data.properties.error.name",
      text = "data.properties.error.data.message",
    },
    {
      is = "retrying",
      why = "data.properties.status.message",
      on = on("session.status", { ["data.properties.status.type"] = "retry" }),
    },
    { is = "blocked", on = on("permission.asked"), why = "data.properties.permission" },
    { is = "blocked", on = on("question.asked"), why = "data.properties.questions.0.question" },
    {
      is = "said",
      id = "data.properties.info.id",
      on = on(
        "message.updated",
        { ["data.properties.info.role"] = "assistant", ["data.properties.sessionID"] = worker.conversation }
      ),
    },
  }
end

-- What it would run inside itself whatever it is told: plugins of the project, which could send its requests anywhere.
-- In names of JSON a letter can be written as a number.
local function guarded(worker)
  if worker.options.plugins then
    return nil
  end
  local unwanted = {}
  for _, folder in ipairs({ "plugin", "plugins" }) do
    table.insert(unwanted, { path = ".opencode/" .. folder })
  end
  for _, file in ipairs({ "opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc" }) do
    table.insert(unwanted, { path = file, holds = { "plugins", "\\u" } })
  end
  return { unwanted = unwanted }
end

fleet.launcher("opencode", {
  about = "opencode in a pane of its own, where a person can watch it and write to it, given its texts over its own HTTP API. It has a private folder, and its endpoint speaks the OpenAI dialect (`…/v1`).",
  needs = {
    model = "the name of the model at its endpoint",
    endpoint = "the endpoint of fleetd.toml that it asks, in the OpenAI dialect",
  },
  options = {
    context = "How many tokens the model's context has; 128000 if absent. When it is full, it sums up and goes on.",
    output = "How many tokens an answer may have; 8192 if absent.",
    cost = "What a million tokens cost, in US dollars: `input`, `output`, `cache_read`, `cache_write`; nothing if absent.",
    compaction = "`false`: a full context ends the turn instead.",
    permission = 'Rules for its tools over `{ ["*"] = "allow" }`, as in its own configuration. A rule `ask` waits for a person at its pane.',
    most = "How many answers of its model one turn may have before it is stopped as endless; 500 if absent.",
    skills = "Names of the project's skills that it gets; all if absent, `{}` for none.",
    mcp = "Names of MCP servers of the project's `opencode.json` that it gets as well; none if absent.",
    plugins = "`true`: it is started also in a project that has plugins for it, which run inside it, key and all.",
    args = "More arguments for the program.",
  },
}, function(worker)
  local argv = { "opencode", "--port", worker.port, "--hostname", "127.0.0.1" }
  for _, arg in ipairs(worker.options.args or {}) do
    table.insert(argv, arg)
  end
  local conversation = "/session/" .. worker.conversation
  return {
    drive = "api",
    argv = argv,
    env = env(worker),
    files = files(worker),
    bring = bring(worker),
    lists_tools = true,
    guard = guarded(worker),
    signs = signs(worker),
    api = {
      user = "opencode",
      ready = { path = "/global/health", on = { healthy = true } },
      open = { call = { path = "/session", body = { title = worker.name } }, id = "id" },
      say = {
        path = conversation .. "/prompt_async",
        body = { parts = { { type = "text", text = worker.text, metadata = { delivery = worker.turn } } } },
      },
      stop = { path = conversation .. "/abort", post = true },
      rest = { path = "/session/status", none = { worker.conversation } },
      record = record(worker),
      events = { path = "/event", silence = "25s" },
      tools = {
        check = { path = "/mcp", on = { ["fleet.status"] = "connected" } },
        mend = { path = "/mcp/fleet/connect", post = true },
      },
      asks = { path = "/permission", none = { "0" } },
      show = { path = "/tui/select-session", body = { sessionID = worker.conversation } },
      most = worker.options.most,
    },
  }
end)
