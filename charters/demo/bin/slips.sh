#!/bin/sh
# A worker that looks for what should not have been committed: conflict markers, private keys, debugging aids.
. "$(dirname -- "$0")/common.sh"
read_batch
plain_files | inspect slips '
function begin() { opened = 0 }
function finish() { if (opened) finding("high", opened, "conflict: a merge marker that is never closed") }
function look(line,   first) {
  first = substr(line, 1, 1)
  if (first == "<" && line ~ /^<<<<<<< [^<]/) opened = at
  else if (first == ">" && line ~ /^>>>>>>> [^>]/) {
    finding("high", opened ? opened : at, "conflict: merge markers up to line " at)
    opened = 0
  }
  else if (first == "-" && line ~ /^-----BEGIN [A-Z ]*PRIVATE KEY-----/) finding("high", at, "secret: a private key lies in the tree")
  else if (source) slip(line)
}
function slip(line) {
  if (ext == "rs") {
    if (!index(line, "!(")) return
    if (line ~ /^[^"\/]*dbg!\(/) finding("medium", at, "left over: " trimmed(line))
    else if (line ~ /^[^"\/]*(todo|unimplemented)!\(/) finding("medium", at, "unfinished: " trimmed(line))
  } else if (ext == "py") {
    if (line ~ /^[ \t]*(breakpoint\(\)|(import pdb; *)?pdb\.set_trace\(\))/) finding("medium", at, "left over: " trimmed(line))
    else if (line ~ /^[ \t]*except:/) finding("low", at, "swallowed: a bare except hides every error")
  } else if (ext ~ /^(js|jsx|mjs|ts|tsx|vue)$/) {
    if (line ~ /^[ \t]*debugger;?[ \t]*$/) finding("medium", at, "left over: debugger")
    else if (line ~ /^[ \t]*(describe|it|test)\.only\(/) finding("medium", at, "left over: only this test runs: " trimmed(line))
  } else if (ext == "rb" && line ~ /^[ \t]*binding\.(pry|irb)/) finding("medium", at, "left over: " trimmed(line))
  else if (ext == "php" && line ~ /^[ \t]*var_dump\(/) finding("low", at, "left over: " trimmed(line))
  else if (ext == "java" && line ~ /\.printStackTrace\(\)/) finding("low", at, "swallowed: an error is only printed")
}
function trimmed(line) { sub(/^[ \t]+/, "", line); return line }'
