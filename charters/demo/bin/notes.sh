#!/bin/sh
# A worker that collects the notes people leave for later: TODO, FIXME, XXX, HACK.
. "$(dirname -- "$0")/common.sh"
read_batch
plain_files | inspect notes '
function begin() {}
function finish() {}
function look(line,   before, word) {
  if (line !~ /TODO|FIXME|XXX|HACK/) return
  if (!match(line, /(^|[^A-Za-z0-9_])(TODO|FIXME|XXX|HACK)([^A-Za-z0-9_]|$)/)) return
  before = substr(line, 1, RSTART); line = substr(line, RSTART); sub(/^[^TFXH]*/, "", line)
  # In code a note is a comment; elsewhere it is followed by a colon or a name. All else is only the word.
  if (source ? before !~ /\/\/|#|--|\/\*|^[ \t]*\*|;|<!--/ : line !~ /^[A-Z]+[:(]/) return
  if (source && gsub(/"/, "", before) % 2) return # inside a string
  word = line; sub(/[^A-Z].*/, "", word)
  finding(word == "TODO" ? "low" : "medium", at, "note: " line)
}'
