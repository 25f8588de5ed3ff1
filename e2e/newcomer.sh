#!/usr/bin/env bash
# The first quarter of an hour of a newcomer, as the README tells it: an empty directory, an empty HOME, nothing but
# the program and curl. Given the program's path; prints what it does and fails at the first thing that is not so.
set -euo pipefail

fleetd=$(realpath "$1")
home=$(mktemp -d)
daemon=

clean_up() {
    [[ -z $daemon ]] || kill -TERM "$daemon" 2>/dev/null || true
    [[ -z $daemon ]] || wait "$daemon" 2>/dev/null || true
    rm -rf "$home"
}
trap clean_up EXIT

cd "$home"
clean=(env -i "HOME=$home" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8)
run() { "${clean[@]}" "$@"; }
step() { printf '  %s\n' "$*"; }
fail() {
    printf 'newcomer: %s\n' "$*" >&2
    exit 1
}
same() { [[ $1 == "$2" ]] || fail "$3: wanted '$1', got '$2'"; }

start() {
    # What the last daemon said must not be taken for the word of this one.
    : >"$home/said"
    # Not by the function: the daemon itself must be the child whose pid is known.
    "${clean[@]}" "$fleetd" serve --listen 127.0.0.1:0 >"$home/said" 2>"$home/log" &
    daemon=$!
    # The line that says where it listens is the last of the banner.
    until grep -q 'listens on' "$home/said"; do
        kill -0 "$daemon" 2>/dev/null || fail "the daemon did not start: $(cat "$home/log")"
        read -r -t 0.05 <> <(:) || true
    done
    url=$(sed -n 's/.*listens on \(http[^ ]*\).*/\1/p' "$home/said")
}

post() { run curl -sS -X POST -H 'content-type: application/json' -d "$2" "$url$1"; }

step "the demo, on an empty directory"
mkdir nothing
run "$fleetd" demo nothing >/dev/null || fail "the demo failed"

step "init, check and test"
run "$fleetd" init . >/dev/null
run "$fleetd" charter check charters/default >/dev/null
run "$fleetd" charter test charters/default >/dev/null

step "a first charter"
mkdir mine
cat >mine/team.lua <<'LUA'
fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "30s" })
fleet.role("w-upper", { profiles = { "upper" }, max_busy = 2, max_waiting = 100 })

fleet.recipe("shout", { input = { words = "string[]" } }, function(job, run)
  local replies = run:each(job.words, function(word)
    return run:send { to = "w-upper", prompt = word }
  end)
  local said = {}
  for i, reply in ipairs(replies) do
    said[i] = reply.text
  end
  return said
end)
LUA
sed -i 's|^charter *=.*|charter = "mine"|' fleetd.toml
start

step "a blocking send by curl alone"
first=$(post /message '{"role":"w-upper","prompt":"hello","key":"first"}')
[[ $first == *'"text":"HELLO"'* ]] || fail "no reply: $first"

step "the same by the command line, and a recipe"
same HELLO "$(run "$fleetd" send w-upper hello)" "fleetd send"
shouted=$(run "$fleetd" --json run start shout --job '{"words":["a","b"]}' --wait)
[[ $shouted == *'["A","B"]'* ]] || fail "the recipe: $shouted"

step "kill -9, and the same envelope after a restart"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
start
same "$first" "$(post /message '{"role":"w-upper","prompt":"hello","key":"first"}')" "the envelope"

step "an edit changes the next decision, a broken one changes nothing"
sed -i 's|{ "tr", "a-z", "A-Z" }|{ "rev" }|' mine/team.lua
run "$fleetd" charter reload >/dev/null
same olleh "$(run "$fleetd" send w-upper hello)" "the edited charter"
echo 'fleet.profle("x", {})' >mine/broken.lua
if run "$fleetd" charter reload >"$home/refused" 2>&1; then fail "a broken charter was taken"; fi
grep -q 'broken.lua:1' "$home/refused" || fail "the refusal names no line: $(cat "$home/refused")"
same olleh "$(run "$fleetd" send w-upper hello)" "the last good charter"

echo "newcomer: all of it is so"
