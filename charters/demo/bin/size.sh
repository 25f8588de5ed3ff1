#!/bin/sh
# A worker that measures: functions, lines and files that have grown too long.
# It goes by indentation: a function ends where its closing `}` or `end` stands below its first letter again
# (in Python: where the text moves back). No parser, many languages, and wrong only on text that nobody formatted.
. "$(dirname -- "$0")/common.sh"
read_batch
plain_files | inspect size '
BEGIN {
  braces["rs"] = "^[ \t]*(pub(\\([a-z:]+\\))? +)?((const|async|unsafe|default|extern \"C\") +)*fn +[A-Za-z_]"
  braces["go"] = "^func "
  braces["kt"] = "^[ \t]*([a-z]+ +)*fun +[A-Za-z_`<]"
  braces["swift"] = "^[ \t]*([a-z]+ +)*func +[A-Za-z_]"
  braces["php"] = "^[ \t]*([a-z]+ +)*function +[A-Za-z_]"
  braces["js"] = braces["jsx"] = braces["mjs"] = braces["ts"] = braces["tsx"] = "^[ \t]*((export|default|async) +)*function|^[ \t]*((export|const|let) +)+[A-Za-z_]+ *=.*=> *\\{$"
  braces["java"] = braces["cs"] = braces["dart"] = "^[ \t]+((public|private|protected|internal|static|final|override|virtual|async) +)+[^=;(]*\\("
  braces["c"] = braces["h"] = braces["cc"] = braces["cpp"] = braces["cxx"] = braces["hpp"] = braces["hh"] = "^[A-Za-z_][^=;#]*[A-Za-z0-9_] *\\([^;]*$"
  braces["sh"] = "^[ \t]*(function +)?[A-Za-z_][A-Za-z0-9_-]* *\\(\\)"
  braces["pl"] = braces["pm"] = "^sub +[A-Za-z_]"
  braces["zig"] = "^[ \t]*((pub|export|inline) +)*fn +[A-Za-z_]"
  ends["lua"] = "^[ \t]*(local +)?function|= *function *\\("
  ends["rb"] = "^[ \t]*def +[A-Za-z_]"
  ends["ex"] = "^[ \t]*defp? +[a-z_].* do$"
  moves["py"] = "^[ \t]*(async +)?def +[A-Za-z_]"
}
function begin() {
  open = 0; long_lines = 0; longest = 0; generated = 0; last = 0
  starts = ext in braces ? braces[ext] : ext in ends ? ends[ext] : ext in moves ? moves[ext] : ""
  closer = ext in ends ? "^[ \t]*end" : "^[ \t]*}"
  python = ext in moves
  in_tests = path ~ /[Tt]est|[Ss]pec|example|bench/ # long is no great fault there
}
function look(line,   length_now) {
  if (!source) return
  if (at <= 5 && line ~ /@generated|DO NOT EDIT|[Aa]uto-?generated/) generated = 1
  length_now = length(line)
  if (length_now > 200) { long_lines++; if (length_now > longest) { longest = length_now; longest_at = at } return }
  if (starts == "" || length_now == 0) return
  if (python) { if (open && line !~ /^[ \t]*([#)\]}]|$)/) close_from(indent(line)) }
  else if (open && line ~ closer) close_at(indent(line))
  else if (open && !body[open]) { if (index(line, "{")) body[open] = 1; else if (line ~ /;[ \t]*$/) open-- } # only declared
  if (line ~ starts && line !~ /;[ \t]*$|}[ \t,;)]*$|[^A-Za-z_]end[ \t,;)]*$/) open_at(line)
  if (python && line ~ /[^ \t]/) last = at
}
function finish() {
  if (!source || generated) return
  if (python) close_from(0)
  if (long_lines) finding("low", longest_at, "long lines: " long_lines " over 200 bytes, this one has " longest)
  if (at > 1000) finding(at > 3000 && !in_tests ? "medium" : "low", 1, "big file: " at " lines")
}
function indent(line) { match(line, /[^ \t]/); return RSTART - 1 }
function open_at(line,   depth) {
  depth = indent(line)
  while (open && column[open] >= depth) open-- # it never closed: a declaration without a body
  open++; column[open] = depth; began[open] = at; called[open] = name_of(line)
  body[open] = !(ext in braces) || index(line, "{")
}
function close_at(depth) {
  while (open && column[open] > depth) open--
  if (open && column[open] == depth) { measure(at); open-- }
}
function close_from(depth) { while (open && column[open] >= depth) { measure(last); open-- } }
function measure(end,   lines) {
  lines = end - began[open] + 1
  if (lines > 80 && !generated) finding(in_tests ? "low" : lines > 160 ? "high" : "medium", began[open], "long function: " called[open] " has " lines " lines")
}
function name_of(line) {
  if (line ~ /(^|[ \t])(fn|func|fun|function|def|defp|sub)[ \t]/) {
    sub(/^(.*[ \t])?(fn|func|fun|function|def|defp|sub)[ \t]+(\([^)]*\)[ \t]*)?/, "", line)
    sub(/[^A-Za-z0-9_.:].*/, "", line)
  } else {
    sub(/[ \t]*[=(].*/, "", line); sub(/.*[^A-Za-z0-9_.:~]/, "", line)
  }
  return line == "" ? "(unnamed)" : line
}'
