-- Other people's agents as `exec` workers: for each message one process, which gets the message on stdin; what it prints
-- on stdout is the reply, and an exit code other than 0 a failed turn, with the end of its stderr.
--
-- Take what you need into your own charter. `fleetd charter check` passes without any of these programs, `fleetd doctor`
-- says which are missing. Nothing of this was run with the real programs by our tests: the flags are those of the public
-- documentation that is named at each, read in November 2026. Ask yours with --help when a turn fails at once.
--
-- What holds for all of them:
--  * They run in the directory in which fleetd was started; `cwd = "/path/of/project"` names another. They all work
--    in the same tree (`worktree` is not for `exec`), so those that write have `max_busy = 1`.
--  * Their environment is a small one: HOME is there, so a login that the program keeps in your home works; API keys
--    of your shell are not. A key belongs in the program's own file of settings, and never in this one.
--  * Which model they use, and who pays for it, is their own settings' matter. fleetd does not look at it.
--  * When the timeout is over, the whole tree of processes is ended and the turn is `timed_out`.

-- Codex. The prompt comes on stdin: that is what the `-` means. Progress goes to stderr, the last message alone to stdout.
-- It wants to be inside of a git repository (else --skip-git-repo-check) and keeps no session (--ephemeral).
-- --sandbox read-only is its default, written out; workspace-write lets it edit files in its directory.
-- Exit codes: 0 = done; others are not listed, and any of them is a failed turn.
-- From: developers.openai.com/codex/noninteractive; the options in codex-rs/exec/src/cli.rs at 02805335.
fleet.profile("codex", {
  launcher = "exec",
  command = { "codex", "exec", "--ephemeral", "--sandbox", "read-only", "--color", "never", "-" },
  timeout = "20m",
  about = "codex exec: reads the project, changes nothing",
})
fleet.role("w-codex", { profiles = { "codex" }, max_busy = 2, about = "Codex, read-only" })

-- Gemini CLI. `-p` makes it headless, and its text is put after what comes on stdin: so the message comes first and the
-- fixed sentence last. Nobody can be asked: what would need an approval is refused. `--approval-mode auto_edit` lets
-- it edit files.
-- Exit codes: 0 = done, 1 = error or failed API call, 42 = wrong input or arguments, 53 = too many turns of its own.
-- From: geminicli.com/docs/cli/headless and docs/cli/cli-reference.md at 01ebea3b. Newer ones may want --skip-trust in
-- a folder that they do not know.
fleet.profile("gemini", {
  launcher = "exec",
  command = { "gemini", "--output-format", "text", "-p", "The text before this line is your task." },
  timeout = "20m",
  about = "gemini -p: answers, with the tools that need no approval",
})
fleet.role("w-gemini", { profiles = { "gemini" }, max_busy = 2, about = "Gemini, headless" })

-- Ollama: a model and no agent, it has no tools and sees no files. The prompt comes on stdin. Lines are not broken for a
-- terminal (--nowordwrap), and what a model thinks is not printed (--hidethinking, there since May 2025).
-- `ollama pull qwen3-coder` first: a model that is not there is fetched in the middle of the first turn.
-- Exit codes: 0 = answered; anything else is an error, with its text on stderr.
-- From: the page of `ollama run` in Ollama's documentation; docs/cli.mdx at 01641925.
fleet.profile("ollama", {
  launcher = "exec",
  command = { "ollama", "run", "--nowordwrap", "--hidethinking", "qwen3-coder" },
  timeout = "10m",
  about = "ollama run: a local model, without tools",
})
fleet.role("w-ollama", { profiles = { "ollama" }, max_busy = 1, max_waiting = 200, about = "a local model" })

-- Aider. It takes the message as an argument, so a shell puts stdin there. How that is safe:
--  * "$(cat)" in double quotes is one word, whatever stands in it: nothing in it is looked at by the shell again.
--  * `--message=` and the text are one argument, so a text that begins with `-` is no option.
--  * `Task: ` before it: for aider, a message that begins with `/` or `!` is a command, and `!` runs a shell.
--  * `exec` leaves no shell behind that a timeout would have to find.
-- What it costs: an argument is seen by everybody who may list processes, line ends at the end of the text are lost, and
-- Linux takes at most 128 KiB; a longer one is not cut, its turn fails ("Argument list too long").
-- It edits files and commits them by itself; --no-auto-commits leaves the commit to you.
-- Exit codes: do not trust them. It ends with 0 also when no model could be reached (its issue 5552): the reply then holds
-- the error.
-- From: aider.chat/docs/scripting.html; docs/config/options.md and docs/usage/commands.md at 009c4dc8.
fleet.profile("aider", {
  launcher = "exec",
  command = {
    "sh",
    "-c",
    "exec aider --yes-always --no-pretty --no-stream --no-check-update --no-show-release-notes"
      .. ' --no-suggest-shell-commands --no-detect-urls --message="Task: $(cat)"',
  },
  timeout = "20m",
  about = "aider --message: edits files and commits them",
})
fleet.role("w-aider", { profiles = { "aider" }, max_busy = 1, about = "Aider: changes the project" })
