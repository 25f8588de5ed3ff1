-- The team: which kinds of worker there are, and how many of each may be busy at once.
-- Edit this while fleetd runs: a saved file counts for the next decision, a broken one changes nothing and says why.
-- A charter may narrow what fleetd.toml allows; it can never widen it.

-- A profile says how to start a worker. The `exec` launcher starts a command anew for each message: the message is
-- its stdin, what it prints is the reply, and an exit status other than 0 is a failure. No shell is in between.
-- These three need no model; they are here so that everything can be tried at once. Put your own in their place.
fleet.profile("echo", { launcher = "exec", command = { "cat" }, timeout = "10s", about = "gives a message back" })
fleet.profile(
  "upper",
  { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "10s", about = "shouts it back" }
)
fleet.profile("words", { launcher = "exec", command = { "wc", "-w" }, timeout = "10s", about = "counts its words" })

-- A role is a pool of workers that are all alike; messages are sent to roles, and wait in the role's queue.
fleet.role("w-echo", { profiles = { "echo" }, max_busy = 2, max_waiting = 100 })
fleet.role("w-upper", { profiles = { "upper" }, max_busy = 2, max_waiting = 100 })
fleet.role("w-words", { profiles = { "words" }, max_busy = 4, max_waiting = 500 })

-- A typed worker is an interactive program in a pane of its own, which lives between messages. It is started by
-- `fleetd spawn w-helper`, and `fleetd attach w-helper-1` shows it.
--
-- fleet.profile("helper", { launcher = "typed", command = { "my-agent" }, typing = { prompt = { "> " } } })
-- fleet.role("w-helper", { profiles = { "helper" }, max_busy = 2 })

-- Agents with a model: one on a cheap or local model, whose address stands in fleetd.toml as [endpoints.NAME], for most of
-- the work, and a second kind beside it. `charters/review`, `bug-hunt`, `implement`, `best-of-n` and `night-shift` are whole
-- charters of such teams.
--
-- fleet.profile("qwen", { launcher = "claude", model = "qwen3-coder", endpoint = "local-llm", idle_ttl = "5m" })
-- fleet.profile("open", { launcher = "opencode", model = "qwen3-coder", endpoint = "chat", idle_ttl = "5m" })
-- fleet.role("w-local", { profiles = { "qwen", "open" }, max_busy = 6, max_waiting = 200 })
