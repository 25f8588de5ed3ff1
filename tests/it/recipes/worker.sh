#!/bin/sh
# Plays the agents of the runs in docs/recipes.md: what each says, by what it is asked. There is no model behind it.
asked=$(cat)
has() { case "$asked" in *"$1"*) true ;; *) false ;; esac; }
say() { printf '%s\n' "$1"; }

find='"file": "src/parser.rs", "line": 40, "why": "an empty line ends the loop"'
if has 'Look only for correctness'; then
  say "[{$find, \"severity\": \"high\"}]"
elif has 'Look only for'; then
  say '[]'
elif has 'These are findings of reviewers'; then
  say "{\"decision\": \"mend\", \"because\": \"it loses input\", \"findings\": [{$find, \"severity\": \"high\"}]}"
elif has 'Look for bugs in src/parser.rs'; then
  say "[{$find, \"proof\": \"parse(a, empty, b) gives a\"}]"
elif has 'Look for bugs in src/huge.rs'; then
  # More than a charter can read.
  awk -v find="{$find, \"proof\": \"x\"}" 'BEGIN { printf "["; for (n = 0; n < 14000; n++) printf "%s%s", n ? "," : "", find; print "]" }'
elif has 'Look for bugs in'; then
  say '[]'
elif has 'Try to refute it by its tests'; then
  # Two are enough; the third one is not waited for.
  exec sleep 50
elif has 'Try to refute it'; then
  say '{"real": true, "because": "it happens: b is lost"}'
elif has 'Split this goal'; then
  say '[{"title": "a writer", "task": "write values as JSON"}, {"title": "the flag", "task": "take --json everywhere"}]'
elif has 'Implement this part'; then
  say 'It is done and committed, with a test.'
elif has 'Review what was done'; then
  say '{"good": true, "complaint": ""}'
elif has 'flaky test'; then
  say '{"done": false, "summary": "it fails once in a hundred runs", "open": ["may the test take a second longer?"]}'
elif has 'Do this alone'; then
  say '{"done": true, "summary": "three crates are newer, all tests pass", "open": []}'
else
  say "nobody told this program what to say to: $asked" >&2
  exit 1
fi
