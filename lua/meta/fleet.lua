---@meta fleet
-- Generated from src/charter/describe.rs; `FLEETD_BLESS=1 cargo nextest run reference` writes it anew.

---@class fleet.Typing
---@field prompt? string[] What the line begins with into which people write; `"> "`, `"❯ "` and `"› "` if absent. As long as none is on the screen, nothing is typed.
---@field placeholder? string[] What an empty composer may show; what else stands in it is somebody's draft.
---@field busy? string[] What stands near the composer while the agent works; `"esc to interrupt"` if absent.
---@field dialog? string[] What stands near the composer while the agent asks for a key; `"1. Yes"` if absent.
---@field near? integer How many rows above the composer may show that it works or asks; 6 if absent. What stands there and is the end of its reply must not be taken for it.
---@field pasted? string[] How the composer shows a paste that it does not write out; `"[Pasted text"` if absent.
---@field interrupt? string[] The keys that make it stop: `enter`, `esc`, `tab`, `backspace`, `up`, `down`, `left`, `right`, `ctrl+c` and such, or one character; `{ "esc" }` if absent.
---@field clear? string[] The keys that empty its composer, pressed once where it put a text back into it after an interrupt; none if absent.
---@field ready_timeout? string|number How long it may take to show an empty composer; `"1m"` if absent.
---@field quiet? string|number How long an idle screen must have stayed the same for a turn to be over, when nothing else shows it; `"2s"` if absent.
---@field limit? integer Bytes of a message that are typed at most, 8192 if absent; a longer one is given as a file.

---@class fleet.ContextCap
---@field turns? integer Turns at most.
---@field tokens? integer Tokens of its context at most, where the agent tells them with each turn.

---@class fleet.Restarts
---@field failures? integer So many failures; 5 if absent.
---@field within? string|number Within this time; `"10m"` if absent.

---@class fleet.Window
---@field between? string Which part of a day, such as `"22:00-06:00"`; all of it if absent.
---@field days? string|string[] On which days it begins, such as `"mon-fri"`; on all if absent.
---@field max_busy integer How many may be busy in it; 0 = nothing is handed out.

---@class fleet.WorkerSpec
---@field profile string The profile's name.
---@field command? string[] Program and arguments, as the profile has them.
---@field env? table<string, string> Variables, as the profile has them; absent if it has none.
---@field model? string The model, as the profile has it.
---@field endpoint? table Absent when the profile names none, which means the agent's own default. `name`; `url`: the marker of its address; `key`: the marker of its key, which may stand in `env` only.
---@field typing? fleet.Typing As the profile has it.
---@field options table As the profile has it; empty if it has none.
---@field name string The marker of the worker's name.
---@field role string The marker of its role's name.
---@field cwd string The marker of the directory in which it works, as a real path.
---@field home string The marker of its private folder, which nobody else can read.
---@field user_home string The marker of the home directory of whoever runs fleetd, as the worker has it.
---@field id string The marker of a fresh UUID, the same for the whole session.
---@field url string The marker of fleetd's address, such as `http://127.0.0.1:7717`.
---@field fleetd string The marker of the path of fleetd's program.
---@field identity string The marker of a text that tells the agent who it is and what it is at.
---@field text string The marker of a turn's text, for `lines` and `api`.
---@field turn string The marker of a turn's id, for `api` and the signs of its record and its events.
---@field port string The marker of a free port on loopback at which a program that is called shall listen.
---@field password string The marker of a secret of the session, which may stand in `env` only; for `api`.
---@field conversation string The marker of the name that `api.open` was answered with.

---@class fleet.Plan
---@field drive string How it gets its texts. `"turn"`: a process for each turn, the prompt on stdin, the reply on stdout. `"typed"`: a program in a pane, which is typed to. `"lines"`: a program that reads and writes lines of JSON. `"api"`: a program in a pane, which is called over HTTP.
---@field argv string[] Program and arguments, started without a shell. No secret may stand here.
---@field env? table<string, string> Variables beside the allow-list; the profile's `env` goes over them.
---@field files? table<string, any> Files written into its private folder before it starts, by their path in it: a text, or a table that becomes JSON.
---@field bring? fleet.Bring[] What of its directory it shall find in its private folder.
---@field typing? fleet.Typing How its screen is read; for `"typed"`.
---@field lines? fleet.Lines What is written to it; for `"lines"`.
---@field api? fleet.Api What it is asked; for `"api"`.
---@field signs? fleet.Sign[] What its reports mean, the first that fits: hooks (`POST /hook`, `fleetd hook`) of a typed program, the lines of one that writes lines, the events of one that is called (`event`: its name, `data`: its JSON).
---@field lists_tools? boolean True if it is ready only once it has listed the fleet's tools.
---@field transcript? fleet.Transcript Where it writes down what it does.
---@field guard? fleet.Guard Settings that would move its model's address.

---@class fleet.Bring
---@field from string A file or directory below its directory; nothing is brought if it is not there.
---@field to string Where it goes, below the private folder.
---@field table? string Of a JSON file: the table in it whose entries are added to the same table of the JSON file at `to`.
---@field only? string[] Of such a table, or of a directory: only the entries with these names.
---@field imports? boolean True for a text in which `@path` stands for a file: files below its directory are written in its place, all others stay words that mean nothing.

---@class fleet.Lines
---@field say table The line of a turn, with the marker of its text in it.
---@field interrupt? table The line that makes it stop its turn; without one its process is ended.

---@class fleet.Sign
---@field is string What a report means for which the rule fits: `taken`, `replied`, `failed`, `interrupted`, `goes_on`, `blocked`, `retrying`, `settings`, `said`, `complete`, `rested`, `context`, `nothing`.
---@field on? table<string, any> What stands at these paths: the value, or one of a list.
---@field any? string[] At one of these paths at least stands something: not nothing, false, zero or empty.
---@field begins? table<string, string> What the texts at these paths begin with.
---@field text? string The path of the text: of the prompt, the reply, the message.
---@field pieces? fleet.Pieces Which pieces are the text, where it is a list of pieces; all that have a `text` if absent.
---@field why? string The path of the reason.
---@field id? string The path of a message's id; one that is written in parts is counted once.
---@field model? string The path of the model's name.
---@field usage? table<string, string> The paths of `input`, `output`, `cache_read`, `cache_write` (tokens), `cost` (US dollars) and `cost_so_far` (of the whole session, where only that is told).
---@field answer? table What the report is answered, where it waits for an answer.

---@class fleet.Transcript
---@field path string Where a hook's report says which file it is: lines of JSON.
---@field line? string The path of a line's own name, where lines may be written out of order.
---@field parent? string The path of the name of the line before it: a turn is complete once no line of it is missing.
---@field signs fleet.Sign[] What a line shows, the first that fits.

---@class fleet.Api
---@field attach? boolean True for a program that somebody else runs, at the address of the profile's `endpoint`: nothing is started, and `argv` is left out. Otherwise it listens at `worker.port` of 127.0.0.1.
---@field exposed? boolean True for one that other machines can reach without any proof once it is started; `[launch] allow_exposed` in fleetd.toml must allow that.
---@field types? boolean True for one that types what it is told into a terminal: characters that are keys are taken out of texts.
---@field user? string The user name of basic authentication, whose password is `worker.password`; absent: none.
---@field ready fleet.Call What it answers once it is up.
---@field open? fleet.Open Begins the conversation.
---@field say fleet.Call Gives it a turn's text: `worker.text`, and `worker.turn` to know it by.
---@field stop? fleet.Call Makes it stop its turn; without one its process is ended.
---@field rest fleet.Call What it answers while it is at rest; asked before each text and to see a turn's end.
---@field record fleet.Record Its own record of what was said, by which turns are settled.
---@field events? fleet.Events Its stream of events: hints to look at once. What they mean is in the plan's `signs`.
---@field asks? fleet.Call What it answers while it asks a person nothing; asked for while it works.
---@field tools? fleet.Mend How it is seen and mended that it has lost the fleet's tools.
---@field show? fleet.Call Shows the conversation in its pane, tried for a while after it is up.
---@field most? integer How many answers of its model one turn may have before it is stopped as endless; 500 if absent.

---@class fleet.Call
---@field path string The path. Which address it is on, no plan says.
---@field post? boolean True for `POST`, which a call with a body is anyway.
---@field body? table What is posted, as JSON.
---@field on? table<string, any> What stands at these paths of its answer.
---@field none? string[] At these paths of its answer nothing stands, or nothing but false, zero or what is empty.
---@field untaken? string[] Of `say`: words of a failed answer (5xx) by which the text was not taken.

---@class fleet.Open
---@field call fleet.Call The request.
---@field id string The path in its answer of what `worker.conversation` stands for.

---@class fleet.Record
---@field call fleet.Call The request; its answer is a list, oldest first.
---@field list? string The path of that list in the answer, if it is not the answer itself.
---@field parent? string The path in an answer of the name (`id` of `taken`) of the text that it answers.
---@field proof? string The word for how a turn's end was shown; `api` if absent.
---@field signs fleet.Sign[] What an entry is: `taken` a text, `said` an answer that is not complete, `goes_on` one after which it works on, `replied`, `failed`, `interrupted` one that may be a turn's last.

---@class fleet.Events
---@field path string The path of the stream (`text/event-stream`).
---@field silence? string|number How long nothing may come on it before it is opened anew.

---@class fleet.Mend
---@field check fleet.Call What shows that it has them.
---@field mend fleet.Call What gives them back.

---@class fleet.Pieces
---@field on? table<string, any> What stands at these paths of a piece.
---@field none? string[] At these paths of a piece nothing stands.
---@field after? table<string, any> Only those after the last piece at which this stands.

---@class fleet.Guard
---@field files? string[] JSON files, below its directory or (with the marker) its private folder.
---@field names? string[] Paths in them, such as `env.NAME`. If what stands there changes while it runs, it is stopped and the leader told.
---@field unwanted? fleet.Unwanted[] What its program would run inside itself: with any of it in its directory, or above it in the repository, it is not started.

---@class fleet.Unwanted
---@field path string A folder with anything in it, or a file.
---@field holds? string[] Of a file: only if it holds one of these words.

---@class fleet.Worktree
---@field base? string What it begins with: a branch, a tag or a commit; what is checked out in `cwd` if absent. What the base lacks of the work there is told.
---@field copy? string[] Files of the checkout that are brought along, such as `.env`: from its top, with `*`, `?` and `**`; only what lies in it.
---@field setup? string[] Program and arguments, run once in the new worktree before the worker starts.
---@field setup_timeout? string|number How long `setup` may take; `"10m"` if absent.

---@class fleet.Task
---@field prompt string The text.
---@field kind? string The sender's free word for the kind of work.
---@field files string[] The files that it is about, as its sender named them; empty if it named none.
---@field from string Who sends: `leader`, `operator`, `run r3`.
---@field urgent boolean True when it asks to go first.
---@field now number When it is asked, in seconds since 1970.

---@class fleet.Team
---@field roles table<string, fleet.Load> Every role by its name; a name that does not exist is an error.
---@field endpoints table<string, fleet.EndpointLoad> Every endpoint of fleetd.toml by its name, and those that a profile names; another name is an error.
---@field workers table<string, fleet.WorkerLoad> Every living worker by its name; nil if it is gone.

---@class fleet.Load
---@field max_busy integer How many may be busy at once, by its hours now; while it is closed, how many by itself.
---@field max_workers? integer How many may live at once, if the role says so.
---@field busy integer How many are busy.
---@field free integer How many more could be handed something now; 0 while the role is closed or parked, or its endpoint full.
---@field waiting integer How many turns wait in its queue, those of runs included.
---@field max_waiting integer How many may wait.
---@field workers integer Living workers.
---@field open boolean False while its hours let it be handed nothing, or it is parked.
---@field until? number When its hours change that or `max_busy` next, or it is parked no longer, in seconds since 1970; nil if neither will.
---@field recent_failures integer Turns of the last ten minutes that failed, timed out (in its queue, too) or were lost.
---@field used fleet.Used What its turns of the last hour took.

---@class fleet.EndpointLoad
---@field max_busy? integer How many workers may be busy on it at once, all roles together; nil without a cap.
---@field busy integer How many are busy.
---@field free? integer How many more may be busy; nil without a cap.
---@field recent_failures integer Turns of the last ten minutes that failed, timed out or were lost.
---@field used fleet.Used What its turns of the last hour took.

---@class fleet.WorkerLoad
---@field role string Its role.
---@field profile string Its profile.
---@field state string What it is doing: `ready`, `busy`, `starting`, `blocked` and the like.
---@field free boolean True when it could be handed something now.
---@field turns integer Turns that it ended.
---@field knows string[] The `files` of the last turns of its session, the latest first, 32 at most; empty where each turn is a process of its own.

---@class fleet.Used
---@field turns integer Turns that ended, since fleetd started.
---@field input integer Tokens read, those of the model's cache included, as far as agents tell them.
---@field output integer Tokens written.
---@field cost number US dollars.

---@class fleet.Envelope
---@field ok boolean True exactly when the worker replied.
---@field text string The reply; empty when there is none.
---@field data any The reply as data, where a `schema` was asked for and it fits. Where it has more than 1 MiB, reading it is an error that names the file in which it lies.
---@field error? string The outcome's word when it is not ok: `failed`, `timed_out`, `lost`, `cancelled`, `unknown`; `busy` when it timed out before any worker took it, `lost` also when the worker that it names is not there any more, `schema` when the answer does not fit its schema, `budget` when the run has used up its budget.
---@field why? string Why it ended so, for people.
---@field outcome string How the turn ended.
---@field turn? string The turn's id; absent when none was begun.
---@field from table Who answered: `worker`, `role`, `profile`, `launcher`, and `model` as the agent named it; what is not known is absent.
---@field stderr? string The end of what the process wrote to stderr.
---@field exit? table How the process ended, for a worker that is one process a turn: its `code`, or the `signal` that ended it.
---@field work? table What was done in the worker's worktree: `branch`, `base`, `commits`, `files_changed`, `dirty` (something is not committed).
---@field usage? table What the turn took, where the agent tells: `input`, `output`, `cache_read` and `cache_write` in tokens, `cost` in US dollars.
---@field truncated? table Where the rest is of a reply of more than 1 MiB, of which `text` is the beginning: `path` names the file with all of it, `bytes` is its length, and `data` names the file with its data if that has more than 1 MiB too. The files go with the turn.
---@field times table When what happened, in milliseconds since 1970: `accepted`, `handed`, `started` (it was shown that the worker took it), `settled`.
---@field proof? string What showed how the turn ended, such as `exit_status`.
---@field generation? integer The charter's generation when the turn was accepted.
---@field retry_of? string The turn that this one tried again.
---@field amends? string The turn whose answer did not fit its `schema`, where this one asked for it again.

---@class fleet.Question
---@field text string What the worker asks.
---@field id string The question's id.
---@field turn string The turn in which it is asked; a new one at each try.
---@field worker string Who asks.

---@class fleet.Budget
---@field turns? integer Turns, each try counted.
---@field tokens? integer Tokens read, written, and written to a cache, where agents tell them; not those read from a cache.
---@field cost? number US dollars, where agents tell them.

---@class fleet.SubRun
---@field ok boolean True when it is `done` or `partial`.
---@field outcome string How it ended: `done`, `partial`, `failed`, `cancelled`, `timed_out`, `budget`.
---@field value any What it returned.
---@field error? string The word of its outcome when it is not ok; `busy` when too many runs are under way.
---@field why? string Why it ended so, for people.
---@field run? string Its id.
---@field recipe? string Its recipe.
---@field usage? table What its turns used: `input`, `output`, `cache_read`, `cache_write`, `cost`.

---@class fleet.Voted
---@field decided boolean True when a value has its quorum.
---@field value any The value that has it; absent when none has.
---@field votes integer How many votes the first of the tally has.
---@field quorum integer How many it needs.
---@field of integer How many parts there were.
---@field tally table[] What was voted for, most votes first: `value`, `votes`, and `parts`, the places of who voted so.
---@field missing fleet.Missing[] Parts that did not vote, and those that were given up.
---@field why? string Why nothing is decided, for people.

---@class fleet.Missing
---@field part integer Its place in the list.
---@field item any What stands at that place in the list that `run:each`, `run:race` or `run:vote` was given.
---@field error string The outcome's word.
---@field why? string Why, for people.
---@field turn? string Its last turn.

---@class fleet.TestRun
---@field outcome string `done`, `partial`, `failed`, `timed_out` or `budget`.
---@field value any The run's value.
---@field why? string Why, unless it is done.

---@class fleet.TestUsed
---@field input? integer Tokens read; 0 if absent.
---@field output? integer Tokens written.
---@field cache_read? integer Tokens read from the model's cache, which no budget counts.
---@field cache_write? integer Tokens written to it.
---@field cost? number US dollars.
---@field took? string|number How long it took, such as `"5m"`; 1 s if absent. Longer than its deadline or its profile's timeout, it times out.

---@class fleet.TestRoute
---@field role? string The role that gets it.
---@field worker? string The worker that gets it.
---@field because string Why.
---@field rubric string The rubric that decided.

---@class fleet.TestSent
---@field to string The role or worker it went to.
---@field prompt string The prompt.
---@field kind? string Its kind.

---@class fleet.Scripted
---@field prompt string The text.
---@field kind? string Its kind.
---@field to string The role or worker it went to.
---@field try integer Which try it is of this send, from 1.
---@field complaint? string What was wrong with the answer that was sent back, if one was.

---@class fleet.Profile
---@field about? string What it is for, for people.
---@field launcher string How the worker is started and read: `"exec"` (a command for each turn, which gets the prompt on stdin and answers on stdout), `"typed"` (an interactive program in a pane, which is typed to), or another of the launchers below, or one that the charter declares by `fleet.launcher`.
---@field command? string[] Program and arguments, started without a shell; where the launcher leaves it open.
---@field model? string The model that the agent is told to use.
---@field endpoint? string The name of an endpoint of fleetd.toml, whose address and key the agent gets; the agent's own default if absent. A charter never writes an address.
---@field options? table What else its launcher lets one choose; see there.
---@field cwd? string Working directory; the daemon's own if absent.
---@field env? table<string, string> Variables that are added to the worker's small environment. `@{fleet.endpoint.url}` and `@{fleet.endpoint.key}` stand for the address and the key of the profile's `endpoint`; no other address may stand here.
---@field timeout? string|number From the start of the process to its exit, such as `"30s"`.
---@field idle_ttl? string|number How long an idle worker that started by itself stays.
---@field context_cap? fleet.ContextCap How full the session of a worker may become. One that is asked for a hand-over note and is given a fresh session under the same name, which begins with that note.
---@field restarts? fleet.Restarts How many sessions that a role started by itself may fail, before it starts no more until one is spawned by hand or the profile is changed; `{ failures = 5, within = "10m" }` if absent.
---@field typing? fleet.Typing How a `typed` worker is typed to, and what its screen shows.
---@field worktree? boolean|fleet.Worktree A git worktree for each of its workers, on a branch of its own, made from the repository that `cwd` lies in. It goes when its worker does, unless work could be lost: then it is kept, and `fleetd worktrees` says why. Not for `exec`.
---@field grants? string[] What its workers may do inside their turn beside printing: `"reply"` (give the reply by a call), `"ask"` (ask whoever sent it). Both if absent; a list narrows, `{}` grants nothing.

---@class fleet.Role
---@field about? string What it is for, for people.
---@field profiles string[] The profiles that its workers may have; the first is the default.
---@field max_busy? integer How many may be busy at once; 1 if absent. With `hours` it must be there, counts outside of them, and may be 0. An endpoint of their profiles may have a cap of its own in fleetd.toml, which all roles on it share; the lower one counts.
---@field max_workers? integer How many may live at once, idle ones included; if absent, the role starts as many as `max_busy` by itself, and any number may be spawned by hand.
---@field between? string|string[] When it is handed anything, such as `"22:00-06:00"`, or several such stretches of a day; always if absent. Outside of it messages wait; what is under way goes on.
---@field days? string|string[] On which days of the week, such as `"mon-fri"`, or several: `{ "mon", "wed-fri" }`; all if absent. What goes over midnight belongs to the day on which it begins.
---@field hours? fleet.Window[] In place of `between` and `days`: windows with caps of their own. The first one that holds counts; outside of all of them it is the role's own `max_busy`. What is busy when a cap goes down is finished.
---@field zone? string Whose clock these hours mean, such as `"Europe/Berlin"`; that of the machine on which fleetd runs if absent.
---@field max_waiting? integer How many messages may wait in its queue; 100 if absent. Parts of a run do not count.

---@class fleet.Routed
---@field role? string The role that gets it; this or `worker`.
---@field worker? string The worker that gets it, of those in `team.workers`; this or `role`.
---@field because? string Why, for people, cut to 200 characters; the rubric's own text if absent.

---@class fleet.Recipe
---@field about? string What it does, for people.
---@field input? table<string, string> The fields of the job: `"string"`, `"integer"`, `"number"`, `"boolean"`, `"any"`, each with `[]` for a list and `?` for one that may be left out. Absent: any job.
---@field deadline? string|number How long a run may take from its start, such as `"30m"`. When it passes, its open turns end as timed out, and the code has 10 s to come to its end with what it has.
---@field budget? fleet.Budget What a run, with the runs below it, may use at most; judged before each turn. When it is used up, sends give an envelope with the error `budget`, and the run ends as `budget` with what its code returns.

---@class fleet.Launcher
---@field about? string What it starts, for people.
---@field needs? table<string, string> Fields that a profile must have for it, each with what they are for: of `command`, `typing`, `model`, `endpoint`.
---@field takes? string[] Fields of these that a profile may have for it; all others are refused by name.
---@field options? table<string, string> The fields of `options` in a profile that are its own, each with what it does.

---@class fleet.Action
---@field action string `"tell_leader"` lays a notice into the mailboxes of the leader and the operator; `"stop_worker"` lets a worker finish its turn and go, or with `now` ends it at once; `"park_role"` hands out nothing for a role for some time, or until the role is declared otherwise, or `fleetd resume`; `"retry_turn"` sends a turn again that timed out or was lost, once (those of a run are tried again by their `retries`).
---@field text? string The notice of `tell_leader`.
---@field worker? string The worker of `stop_worker`.
---@field now? boolean True where `stop_worker` does not wait for the turn: it is lost, and a send of a run with `retries` tries it on another worker. For one that waits for something that will not come, such as an answer to a dialog.
---@field role? string The role of `park_role`.
---@field ["for"]? string|number For how long `park_role` holds, such as `"5m"`.
---@field turn? string The turn of `retry_turn`.

---@class fleet.Send
---@field to? string A role or a worker; absent or `"auto"`: the rubrics decide.
---@field prompt string The text for the worker.
---@field kind? string A free word for the kind of work; rubrics see it.
---@field files? string[] The files that it is about, as paths in the repository, 64 at most; rubrics see them. They are not opened.
---@field deadline? string|number From acceptance to the reply, each try anew, such as `"8m"`: the time in the queue counts, so that of more parts than a role takes at once the last ones come to `busy`.
---@field timeout? string|number From the moment at which a worker is handed it to the reply, each try and each correction anew, such as `"8m"`: how long it waits before does not count. When it passes, the turn has timed out. The profile's own `timeout` holds, too.
---@field retries? integer How often a turn is tried again that timed out, was lost, or was not taken by any worker in time (`busy`): as a new turn, on another worker where one is there; 0 if absent.
---@field priority? string `"now"` goes first; `"normal"` if absent.
---@field schema? string|table What the answer must be: a type of the short form such as `"string[]"` or `"finding[]"`, fields with their types, or a JSON Schema. The worker is told, and `envelope.data` is the checked answer.
---@field corrections? integer How often an answer that does not fit `schema` is sent back with what is wrong; 2 if absent, 10 at most. Each time is a turn.
---@field on_ask? (fun(question: fleet.Question): string?) Answers what the worker asks in its turn: the text that it returns, or nothing to pass the question on to whoever started the run. It may take steps of its own.

---@class fleet.Vote
---@field quorum? integer How many equal votes decide; more than half of the parts if absent.

---@class fleet.Quote
---@field most? integer How many bytes the quote may have, from 256 to 1000000; 256 KiB if absent, three of which fit into one prompt. A list shares them: what short parts leave is the long ones'. What is cut says how much is left out, and of a reply of more than 1 MiB in which file all of it is.

---@class fleet.Sub
---@field deadline? string|number Shorter than the recipe's own, such as `"5m"`. The deadline of the run above holds, too.
---@field budget? fleet.Budget Instead of the recipe's own. The budget of the run above holds, too.

---@class fleet.Command
---@field cwd? string Where it runs; the daemon's own directory if absent.
---@field stdin? string What it reads; nothing if absent.
---@field timeout? string|number How long it may take; `"10m"` if absent, 60 minutes at most.

---@alias fleet.Event "turn_settled"|"run_ended"|"worker_ready"|"worker_blocked"|"worker_gone"|"question_asked"|"role_full"|"role_parked"|"seat_changed"|"pause_changed"|"charter_loaded"|"charter_refused"

---@class fleet.TurnSettled
---@field event "turn_settled" A turn ended.
---@field turn string The turn's id.
---@field from string Who sent it: `leader`, `operator`, `run r3`.
---@field worker? string Who had it, if anybody.
---@field role string The role for which it waited.
---@field outcome string How it ended: `replied`, `failed`, `timed_out`, `lost`, `cancelled`, `unknown`.
---@field why? string Why, unless it was replied to.
---@field retried boolean True if it was a retry itself.

---@class fleet.RunEnded
---@field event "run_ended" A run ended.
---@field run string The run's id.
---@field recipe string Its recipe.
---@field outcome string How it ended: `done`, `partial`, `failed`, `cancelled`, `timed_out`, `budget`.
---@field why? string Why, unless it is done.

---@class fleet.WorkerReady
---@field event "worker_ready" A worker can take its first turn.
---@field worker string The worker.
---@field role string Its role.
---@field profile string Its profile.

---@class fleet.WorkerBlocked
---@field event "worker_blocked" Nothing can be typed to a worker: a dialog is open, or its pane cannot be reached.
---@field worker string The worker.
---@field role string Its role.
---@field why string What is in the way.

---@class fleet.WorkerGone
---@field event "worker_gone" A worker is gone, however that came.
---@field worker string The worker.
---@field role string Its role.
---@field why string How that came.

---@class fleet.QuestionAsked
---@field event "question_asked" A question waits for the leader or the operator: of a worker in its turn, or of a run. One that a run answers first is told when it is passed on.
---@field question string The question's id.
---@field to string For whom it is: `leader` or `operator`.
---@field turn? string The turn in which a worker asks.
---@field run? string The run that asks.
---@field worker? string Who asks, if it is a worker.
---@field text string What is asked.

---@class fleet.RoleFull
---@field event "role_full" As many messages wait for a role as may: the next one is refused. It is told when the queue becomes full.
---@field role string The role.
---@field waiting integer How many wait, which is its `max_waiting`.

---@class fleet.RoleParked
---@field event "role_parked" Nothing is handed out for a role for some time.
---@field role string The role.
---@field until integer Until when, in milliseconds since 1970.

---@class fleet.SeatChanged
---@field event "seat_changed" The leader's seat was taken, or is free.
---@field taken boolean Whether somebody sits in it.
---@field why string How that came.

---@class fleet.PauseChanged
---@field event "pause_changed" Nothing is handed to any worker any more, or again.
---@field paused boolean Whether it is a pause.
---@field by string Who wanted it: `leader` or `operator`.

---@class fleet.CharterLoaded
---@field event "charter_loaded" A generation came into force: the handlers of the new one are told.
---@field generation integer Its number.
---@field last_good boolean True if it is not what lies in the directory, but the last good one.

---@class fleet.CharterRefused
---@field event "charter_refused" Saved files were not taken: the handlers of the generation that stays in force are told, once for the same files.
---@field generation integer The number of the generation that stays.
---@field error string Why, as `file:line: message`.

---@class fleet
---@field null any what stands for null in a list
fleet = {}

---Declares how a worker is started.
---@param name string
---@param spec fleet.Profile
function fleet.profile(name, spec) end

---Declares a pool of interchangeable workers; messages are addressed to it.
---@param name string
---@param spec fleet.Role
function fleet.role(name, spec) end

---Declares a rubric. Rubrics are asked in the order of their declaration where a message without an address should go; the first answer wins. It may not wait, and sees frozen tables.
---@param why string
---@param fn fun(task: fleet.Task, team: fleet.Team): fleet.Routed?
function fleet.route(why, fn) end

---Declares a job in several steps. Its function may wait: every `run:` step is journaled, and after a restart the run goes on where it was.
---@param name string
---@param spec fleet.Recipe
---@param fn fun(job: any, run: fleet.Run): any
function fleet.recipe(name, spec, fn) end

---Names what answers may be asked to fit: fields with their types as in a recipe's `input`, which may name other shapes, or a whole JSON Schema. A `schema` in `run:send`, and in a message from outside, may then say `"name"`, `"name[]"`, or use it in its fields.
---@param name string
---@param schema string|table
function fleet.shape(name, schema) end

---Declares how one agent program is started, watched and read. Its function is asked once for each profile when the charter is loaded, and makes the plan of all workers of that profile; it must not wait and sees nothing but its argument. A name that fleetd has itself (`exec`, `typed`, …) is overridden. A plan has no rights of its own: what it may start and which address it may name, fleetd.toml says.
---@param name string
---@param spec fleet.Launcher
---@param fn fun(worker: fleet.WorkerSpec): fleet.Plan
function fleet.launcher(name, spec, fn) end

---Declares a handler of one of the events below, which is given the event's table, frozen. It may not wait. It gives back nothing, or one action. An event is told at most once, after it was written down; rubrics and runs go before handlers. Handlers act 60 times a minute at most, and of events that come faster than they are handled 1000 wait: so a handler whose action causes its own event ends by itself, and both is told. A handler that fails is skipped; `fleetd charter status` says why, and for ten minutes `fleetd status` says that fleetd is degraded by it. A test tells one of events with `t.event`.
---@param event fleet.Event
---@param fn fun(event: table): fleet.Action?
---@overload fun(event: "turn_settled", fn: fun(event: fleet.TurnSettled): fleet.Action?)
---@overload fun(event: "run_ended", fn: fun(event: fleet.RunEnded): fleet.Action?)
---@overload fun(event: "worker_ready", fn: fun(event: fleet.WorkerReady): fleet.Action?)
---@overload fun(event: "worker_blocked", fn: fun(event: fleet.WorkerBlocked): fleet.Action?)
---@overload fun(event: "worker_gone", fn: fun(event: fleet.WorkerGone): fleet.Action?)
---@overload fun(event: "question_asked", fn: fun(event: fleet.QuestionAsked): fleet.Action?)
---@overload fun(event: "role_full", fn: fun(event: fleet.RoleFull): fleet.Action?)
---@overload fun(event: "role_parked", fn: fun(event: fleet.RoleParked): fleet.Action?)
---@overload fun(event: "seat_changed", fn: fun(event: fleet.SeatChanged): fleet.Action?)
---@overload fun(event: "pause_changed", fn: fun(event: fleet.PauseChanged): fleet.Action?)
---@overload fun(event: "charter_loaded", fn: fun(event: fleet.CharterLoaded): fleet.Action?)
---@overload fun(event: "charter_refused", fn: fun(event: fleet.CharterRefused): fleet.Action?)
function fleet.on(event, fn) end

---Declares a test; `fleetd charter test` runs it with scripted workers and virtual time, and so does every reload before the new files are taken.
---@param name string
---@param fn fun(t: fleet.Test)
function fleet.test(name, fn) end

---@class fleet.Run
---@field id string its id
---@field name string the name of its recipe
local run = {}

---Sends a message and waits for the envelope. What the world does wrong is a value (`envelope.ok`, `envelope.error`); what the author does wrong is an error at that line. With `on_ask`, questions of the worker come to that function first, one after the other in the order of asking; a mistake in it passes the question on, and whoever started the run is told of it.
---@param spec fleet.Send
---@return fleet.Envelope
function run:send(spec) end

---Calls the function for every item, all at once, and gives back what they returned, in order. A part that returned nil is `fleet.null`. An error in one part is an error of `each`; the other parts are given up, and their turns cancelled.
---@param list any[]
---@param fn fun(item: any, index: integer): any
---@return any[]
function run:each(list, fn) end

---Calls the function for every item, all at once; the first part that comes to something good wins: a value, and not an envelope with `ok = false`. Gives back what it returned, its place in the list, and what came to nothing before it. The other parts are given up where they are, and their turns are cancelled. If none is good, the first two are nil. An error in a part is an error of `race`, unless a part has won before.
---@param list any[]
---@param fn fun(item: any, index: integer): any
---@return any, integer?, fleet.Missing[]
function run:race(list, fn) end

---Calls the function for every item, all at once; what a part returns is its vote, and equal values are votes for the same, tables by what is in them. An envelope votes with its `data`, or else with its text without the white space around it; one with `ok = false`, and a part that returns nothing, do not vote. As soon as one value has its quorum, or none can have it any more, the other parts are given up and their turns cancelled. No majority is a value, too: `decided` is false and `why` says so.
---@param list any[]
---@param fn fun(item: any, index: integer): any
---@param spec? fleet.Vote
---@return fleet.Voted
function run:vote(list, fn, spec) end

---Parts a list of replies into what was found and what is missing.
---@param replies any[]
---@return any[], fleet.Missing[]
function run:split(replies) end

---Frames a text, an envelope or a list of them as quoted data for the next prompt: every line gets a bar in front, so that a worker's text cannot pose as an instruction. What is longer than `most` is cut, and says so.
---@param value any
---@param spec? fleet.Quote
---@return string
function run:quote(value, spec) end

---Runs another recipe below this run and waits for its end. It has a journal of its own and ends with this run at the latest; what it came to is a value. Recipes may stand 8 deep.
---@param name string
---@param job any
---@param spec? fleet.Sub
---@return fleet.SubRun
function run:recipe(name, job, spec) end

---Starts a program, once and without a shell, and waits for its end; only what `[commands] allow` in fleetd.toml lists. `text` is what it printed, `stderr` the end of what it complained, `exit` its status; `ok` is true for status 0. If nobody can tell how it ended, `error` is `unknown`, and it is not started again. Eight run at once.
---@param argv string[]
---@param spec? fleet.Command
---@return fleet.Envelope
function run:command(argv, spec) end

---Waits for a length of time, over restarts too.
---@param span string|number
function run:sleep(span) end

---Gives the time in seconds since 1970, the same at a replay.
---@return number
function run:now() end

---Draws as math.random does: in [0, 1), in 1..low, or in low..high; the same at a replay.
---@param low? integer
---@param high? integer
---@return number
function run:random(low, high) end

---Sets a small value under a name that outlives the run; without a value, reads it; `fleet.null` removes it. There may be 1,000 notes.
---@param name string
---@param value any
---@return any
function run:note(name, value) end

---Says how far the run is, formatted as string.format does.
---@param text string
---@param ... any
function run:progress(text, ...) end

---Asks whoever started the run, and waits for the answer; nil where the run reached its deadline, or the end of its budget, first.
---@param question string
---@return string?
function run:ask_leader(question) end

---To be returned: the run ends as `partial` with this value.
---@param value any
---@param why string
---@return any
function run:partial(value, why) end

---To be returned: the run ends as `failed`.
---@param why string
---@param value any
---@return any
function run:fail(why, value) end

---@class fleet.Test
local t = {}

---Scripts the workers of a role (or one worker): what the function returns is the reply text, or a table for the JSON of one; where an answer was sent back, `task.complaint` says what was wrong with it. `t.reply(text, used)` says besides what the turn used, and `t.fail(why)`, `t.timeout()` and `t.lost()` are the other ways a turn can end. It may ask with `t.ask`.
---@param role string
---@param fn fun(task: fleet.Scripted): any
function t.worker(role, fn) end

---Lets one worker go, from here on; a scripted worker may call it in its turn. What is sent to it by its name comes back with `error` = `lost`, and what is sent to its role goes to the next one.
---@param worker string
function t.gone(worker) end

---Scripts the commands of runs: what the function returns is what the program printed; `t.fail(why)` is another status than 0.
---@param fn fun(argv: string[]): any
function t.command(fn) end

---Runs a recipe to its end, and replays it once more from its journal in a fresh VM, which must give the same. A rubric with a mistake, where a send is addressed to nobody, fails the test.
---@param recipe string
---@param job any
---@return fleet.TestRun
function t.run(recipe, job) end

---Lets the test's time go on to the next moment at which a clock shows this: a time of day, such as `"23:00"`, or a day with it, such as `"sat 23:00"`; by the clock of `zone`, or else of UTC. From then on the hours of roles hold, those without a `zone` by UTC: what is sent to a closed role waits for its opening, or times out at its deadline, and rubrics see the role as it stands then. Before that every role is open.
---@param clock string
---@param zone? string
function t.at(clock, zone) end

---Asks the rubrics. Every role is free (after `t.at`, as its hours say) and nobody lives, but for what `team` says: tables as `fleet.Team` has them, with the fields that matter. A rubric with a mistake fails the test.
---@param task { prompt: string?, kind: string?, files: string[]?, from: string?, urgent: boolean? }
---@param team? table
---@return fleet.TestRoute
function t.route(task, team) end

---Tells the handlers of an event, and gives back what they want done, in the order of their declaration; nothing of it is done. Fields of the event that are left out are nil. A handler with a mistake fails the test.
---@param event string
---@param fields? table
---@return fleet.Action[]
function t.event(event, fields) end

---Scripts the answers of whoever started the run: to `run:ask_leader`, and to what a worker asks and no `on_ask` answers.
---@param fn fun(question: string): string
function t.answer(fn) end

---To be called by a scripted worker: asks in its turn, and gives the answer of the send's `on_ask`, else of `t.answer`. A mistake in `on_ask` fails the test.
---@param question string
---@return string
function t.ask(question) end

---Lists what was sent in this test so far.
---@return fleet.TestSent[]
function t.sent() end

---Fails the test unless both are the same, tables by what is in them.
---@param got any
---@param wanted any
function t.equal(got, wanted) end

---Fails the test unless the value is true.
---@param value any
---@param message? string
function t.ok(value, message) end

---To be returned by a scripted worker: its reply, and what the turn used, which counts for the budget of the run and stands in `reply.usage`.
---@param answer any
---@param used? fleet.TestUsed
---@return any
function t.reply(answer, used) end

---To be returned by a scripted worker: the turn failed.
---@param why string
---@param used? fleet.TestUsed
---@return any
function t.fail(why, used) end

---To be returned by a scripted worker: the turn timed out.
---@param used? fleet.TestUsed
---@return any
function t.timeout(used) end

---To be returned by a scripted worker: the worker died.
---@param used? fleet.TestUsed
---@return any
function t.lost(used) end
