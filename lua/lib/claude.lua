-- What the two launchers of Claude Code share: its private folder, its settings, its environment, and what its reports
-- mean. Seen on 2.1.197. Versions move fast: what is here stands in tests with the real program.

local claude = {}

-- Tools that plan or move things behind a leader's back, or that ask a human who is not there. What is denied is also
-- left out of each request, which halves its size.
local DENY = {
  "AskUserQuestion",
  "EnterPlanMode",
  "ExitPlanMode",
  "EnterWorktree",
  "ExitWorktree",
  "CronCreate",
  "ScheduleWakeup",
  "Workflow",
}
local ALLOW = { "mcp__fleet", "Bash", "Edit", "Write", "Read", "Glob", "Grep", "Skill", "TodoWrite", "Task" }

-- The names by which a settings file would move requests, and the key with them, to another address. A test holds that
-- all of `leaders.json` are among them.
local MOVES = {
  "apiKeyHelper",
  "env.ANTHROPIC_BASE_URL",
  "env.ANTHROPIC_AUTH_TOKEN",
  "env.ANTHROPIC_API_KEY",
  "env.ANTHROPIC_CUSTOM_HEADERS",
  "env.ANTHROPIC_MODEL",
  "env.ANTHROPIC_UNIX_SOCKET",
  "env.CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
  "env.CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST",
  "env.CLAUDE_CODE_USE_*",
  "env.HTTP_PROXY",
  "env.HTTPS_PROXY",
  "env.ALL_PROXY",
  "env.http_proxy",
  "env.https_proxy",
  "env.all_proxy",
}

claude.takes = { "model", "endpoint" }
claude.options = {
  permission_mode = "`dontAsk` if absent: what no rule allows is refused to the model, and no dialog opens. Also `acceptEdits`, `bypassPermissions`.",
  allow = "Rules of what it may do without asking; the usual tools and the fleet's if absent.",
  deny = "Tools that it does not get, beside those that need a human. Without `Edit` and `Write` it still has `Bash`, by which it can write.",
  sandbox = "`true` says that it runs where it can do no harm: then `bypassPermissions` works for root as well.",
  skills = "Names of the project's skills that it gets; all if absent, `{}` for none.",
  hooks = "Names of hook events of the project's settings that it gets as well, such as `PostToolUse`; none if absent.",
  mcp = "Names of MCP servers of the project's `.mcp.json` that it gets as well; none if absent.",
  args = "More arguments for the program.",
}

local function list(one, more)
  local all = table.clone(one)
  for _, item in ipairs(more or {}) do
    table.insert(all, item)
  end
  return all
end

local function http(worker, seconds)
  return {
    {
      hooks = {
        {
          type = "http",
          url = worker.url .. "/hook",
          timeout = seconds,
          headers = { ["X-Fleet-Token"] = "$FLEET_TOKEN" },
          allowedEnvVars = { "FLEET_TOKEN" },
        },
      },
    },
  }
end

local function command(worker)
  return { { hooks = { { type = "command", command = "'" .. worker.fleetd .. "' hook", timeout = 10 } } } }
end

-- Only event names that the installed version knows: an unknown one stops the start with a menu.
local function hooks(worker)
  return {
    SessionStart = command(worker),
    UserPromptSubmit = http(worker, 5),
    Stop = http(worker, 5),
    StopFailure = http(worker, 5),
    Notification = http(worker, 5),
    PermissionRequest = http(worker, 5),
    ConfigChange = http(worker, 5),
    SessionEnd = http(worker, 2),
  }
end

local function settings(worker)
  local options = worker.options
  return {
    skipDangerousModePermissionPrompt = true,
    permissions = { allow = options.allow or ALLOW, deny = list(DENY, options.deny) },
    hooks = hooks(worker),
  }
end

-- The files of its private folder, and what of the project is put where it reads it.
local function folder(plan, worker)
  local options = worker.options
  plan.files = {
    ["mcp-config.json"] = { mcpServers = { fleet = { type = "http", url = worker.url .. "/mcp" } } },
  }
  plan.bring = {}
  if options.mcp then
    table.insert(plan.bring, { from = ".mcp.json", to = "mcp-config.json", table = "mcpServers", only = options.mcp })
  end
  if not worker.endpoint then
    -- Its own default: the login and the settings of whoever runs fleetd, which are read where they are.
    plan.files["settings.json"] = settings(worker)
    return
  end
  plan.files["claude/.claude.json"] = {
    hasCompletedOnboarding = true,
    projects = { [worker.cwd] = { hasTrustDialogAccepted = true } },
  }
  plan.files["claude/settings.json"] = settings(worker)
  plan.files["settings.json"] = { env = { ANTHROPIC_BASE_URL = worker.endpoint.url } }
  table.insert(plan.bring, { from = "CLAUDE.md", to = "claude/CLAUDE.md", imports = true })
  table.insert(plan.bring, { from = ".claude/skills", to = "claude/skills", only = options.skills })
  table.insert(plan.bring, { from = ".claude/agents", to = "claude/agents" })
  table.insert(plan.bring, { from = ".claude/commands", to = "claude/commands" })
  if options.hooks then
    table.insert(
      plan.bring,
      { from = ".claude/settings.json", to = "claude/settings.json", table = "hooks", only = options.hooks }
    )
  end
end

local function env(worker)
  local env = {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1",
    DISABLE_TELEMETRY = "1",
    DISABLE_AUTOUPDATER = "1",
    DISABLE_ERROR_REPORTING = "1",
    CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL = "1",
    CLAUDE_CODE_DISABLE_TERMINAL_TITLE = "1",
    CLAUDE_CODE_DISABLE_AUTO_MEMORY = "1",
    CLAUDE_CODE_DISABLE_CRON = "1",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS = "1",
    -- By itself it would try for minutes, and for most of an hour where nobody answers.
    CLAUDE_CODE_MAX_RETRIES = "3",
    API_TIMEOUT_MS = "300000",
  }
  if worker.endpoint then
    env.CLAUDE_CONFIG_DIR = worker.home .. "/claude"
    env.ANTHROPIC_BASE_URL = worker.endpoint.url
    env.ANTHROPIC_AUTH_TOKEN = worker.endpoint.key
    env.CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST = "1"
  else
    -- Trust is written nowhere: the user's own folder is not ours to change.
    env.CLAUDE_CODE_SANDBOXED = "1"
  end
  if worker.options.sandbox then
    env.IS_SANDBOX = "1"
  end
  return env
end

-- What it writes down of each turn; read after its hook, since it is written behind.
local function transcript()
  return {
    path = "transcript_path",
    -- Its lines reach the file in batches, and not always in order.
    line = "uuid",
    parent = "parentUuid",
    signs = {
      { is = "interrupted", on = { type = "user" }, begins = { ["message.content"] = "[Request interrupted by user" } },
      { is = "taken", on = { type = "user" }, text = "message.content", id = "promptId" },
      { is = "failed", on = { type = "assistant", isApiErrorMessage = true }, text = "message.content" },
      {
        is = "said",
        on = { type = "assistant", isSidechain = false },
        id = "message.id",
        model = "message.model",
        text = "message.content",
        usage = {
          input = "message.usage.input_tokens",
          output = "message.usage.output_tokens",
          cache_read = "message.usage.cache_read_input_tokens",
          cache_write = "message.usage.cache_creation_input_tokens",
        },
      },
      { is = "complete", on = { type = "system", subtype = "turn_duration" } },
    },
  }
end

-- What its hooks mean.
local function signs(worker)
  local function on(event)
    return { hook_event_name = event }
  end
  return {
    {
      is = "context",
      on = on("SessionStart"),
      answer = { hookSpecificOutput = { hookEventName = "SessionStart", additionalContext = worker.identity } },
    },
    -- What it says to itself when something of its own has ended.
    { is = "nothing", on = on("UserPromptSubmit"), begins = { prompt = "<task-notification>" }, id = "prompt_id" },
    { is = "taken", on = on("UserPromptSubmit"), text = "prompt", id = "prompt_id" },
    { is = "goes_on", on = on("Stop"), any = { "background_tasks", "session_crons" }, id = "prompt_id" },
    { is = "replied", on = on("Stop"), text = "last_assistant_message", id = "prompt_id" },
    { is = "failed", on = on("StopFailure"), why = "error", text = "last_assistant_message", id = "prompt_id" },
    { is = "blocked", on = on("PermissionRequest"), why = "tool_name" },
    {
      is = "blocked",
      on = { hook_event_name = "Notification", notification_type = "permission_prompt" },
      why = "message",
    },
    { is = "settings", on = on("ConfigChange"), why = "source" },
  }
end

-- The settings that would move its requests: those of the project, and those that it reads as the user's own.
local function guarded(worker)
  local files = { ".claude/settings.json", ".claude/settings.local.json", worker.home .. "/settings.json" }
  if worker.endpoint then
    table.insert(files, worker.home .. "/claude/settings.json")
  else
    local own = worker.env and worker.env.CLAUDE_CONFIG_DIR or worker.user_home .. "/.claude"
    table.insert(files, own .. "/settings.json")
  end
  return { files = files, names = MOVES }
end

-- The plan without what differs between a session that is typed to and one that is not.
function claude.plan(worker)
  local plan = {
    argv = {
      "claude",
      "--session-id",
      worker.id,
      "--permission-mode",
      worker.options.permission_mode or "dontAsk",
      "--setting-sources",
      "user",
      "--settings",
      worker.home .. "/settings.json",
      "--mcp-config",
      worker.home .. "/mcp-config.json",
      "--strict-mcp-config",
    },
    env = env(worker),
    lists_tools = true,
    signs = signs(worker),
    transcript = transcript(),
    guard = guarded(worker),
  }
  if worker.model then
    table.insert(plan.argv, "--model")
    table.insert(plan.argv, worker.model)
  end
  for _, arg in ipairs(worker.options.args or {}) do
    table.insert(plan.argv, arg)
  end
  folder(plan, worker)
  return plan
end

return claude
