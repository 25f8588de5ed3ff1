-- `claude-headless`: Claude Code without a screen, over lines of JSON. Nothing is typed, so nothing can go wrong in
-- typing; nobody can watch it either.

local claude = require("fleetd.claude")

fleet.launcher("claude-headless", {
  about = "Claude Code without a screen: texts and replies go over lines of JSON, and nothing is typed. Endpoint and login as for `claude`.",
  takes = claude.takes,
  options = claude.options,
}, function(worker)
  local plan = claude.plan(worker)
  plan.drive = "lines"
  for _, arg in ipairs({
    "-p",
    "--verbose",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--replay-user-messages",
  }) do
    table.insert(plan.argv, arg)
  end
  plan.lines = {
    say = { type = "user", message = { role = "user", content = { { type = "text", text = worker.text } } } },
    interrupt = { type = "control_request", request_id = "fleet", request = { subtype = "interrupt" } },
  }
  local usage = {
    input = "usage.input_tokens",
    output = "usage.output_tokens",
    cache_read = "usage.cache_read_input_tokens",
    cache_write = "usage.cache_creation_input_tokens",
    cost_so_far = "total_cost_usd",
  }
  local lines = {
    -- It begins a turn with this line, and repeats the text only with the model's first answer.
    { is = "taken", on = { type = "system", subtype = "init" } },
    { is = "taken", on = { type = "user", isReplay = true }, text = "message.content" },
    { is = "interrupted", on = { type = "result", subtype = "error_during_execution" } },
    {
      is = "failed",
      why = "subtype",
      usage = usage,
      on = {
        type = "result",
        subtype = { "error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries" },
      },
    },
    {
      is = "failed",
      on = { type = "result", is_error = true },
      text = "result",
      why = "api_error_status",
      usage = usage,
    },
    { is = "replied", on = { type = "result" }, text = "result", usage = usage },
    { is = "retrying", on = { type = "system", subtype = "api_retry" }, why = "error" },
    -- Its own words for an error, and what its own helpers say.
    { is = "nothing", on = { type = "assistant", ["message.model"] = "<synthetic>" } },
    { is = "nothing", on = { type = "assistant" }, any = { "parent_tool_use_id" } },
    {
      is = "said",
      on = { type = "assistant" },
      id = "message.id",
      model = "message.model",
      usage = {
        input = "message.usage.input_tokens",
        output = "message.usage.output_tokens",
        cache_read = "message.usage.cache_read_input_tokens",
        cache_write = "message.usage.cache_creation_input_tokens",
      },
    },
  }
  -- Its hooks report as well; what ends a turn is only said by its lines.
  for _, sign in ipairs(plan.signs) do
    if sign.is == "taken" or sign.is == "context" or sign.is == "settings" or sign.is == "blocked" then
      table.insert(lines, sign)
    end
  end
  plan.signs = lines
  return plan
end)
