-- `claude`: Claude Code as a person would run it, in a pane. Someone can watch it and take over.

local claude = require("fleetd.claude")

fleet.launcher("claude", {
  about = "Claude Code in a pane of its own, where a person can watch it and take over. With an `endpoint` it has a private folder and meets nobody's login; without one it uses the login of whoever runs fleetd.",
  takes = claude.takes,
  options = claude.options,
}, function(worker)
  local plan = claude.plan(worker)
  plan.drive = "typed"
  plan.typing = {
    -- Its composer begins with a no-break space, and nothing else on its screen does.
    prompt = { "❯\u{A0}" },
    placeholder = { "Press up to edit queued messages", 'Try "' },
    -- For some seconds after a paste something else stands there; its hooks say more than its screen.
    busy = { "esc to interrupt" },
    dialog = { "Enter to confirm", "Enter to select", "Esc to cancel", "❯ 1. " },
    -- It works by the line below its composer, and a dialog takes the composer's place: above stands its reply.
    near = 0,
    pasted = { "[Pasted text #" },
    interrupt = { "esc" },
    -- What it took back stands in its composer again after an interrupt that came before its first word.
    clear = { "ctrl+c" },
    ready_timeout = "30s",
    limit = 16384,
  }
  return plan
end)
