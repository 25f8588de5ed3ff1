# Sourced by every inspecting worker: how a batch is read, and the awk that all of them share.
#
# A batch comes on stdin, one entry a line:
#   the first line   the directory that is inspected, absolute
#   @LIST            a file with more entries, so that a prompt stays short however many files there are
#   anything else    one file, relative to the directory
# Names are encoded, for a file may be called anything: `%XX` stands for a control byte, for `%`, for a byte
# that is not UTF-8, and for an `@` at the start. What a worker prints carries the name as it came.
#
# A worker prints its findings, the worst first, and at the end what it did (fields are parted by tabs):
#   high|medium|low  file  line  what
#   sum  kind  files read  findings  findings printed  files that could not be read

LC_ALL=C # bytes: a name or a line need not be valid in any character set
export LC_ALL
set -f # a name with a star in it is a name
newline='
'
IFS=$newline

die() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 2
}

# Sets $name to what the encoded $1 stands for. Each byte is worked out once, then remembered in byte_XX.
decode() {
  name='' rest=$1
  while :; do
    case $rest in
    *%[0-9A-F][0-9A-F]*) ;;
    *) break ;;
    esac
    name=$name${rest%%"%"*} rest=${rest#*"%"}
    hex=${rest%"${rest#??}"}
    case $hex in
    [0-9A-F][0-9A-F]) rest=${rest#??} ;;
    *) name=$name% && continue ;;
    esac
    eval "byte=\${byte_$hex-}"
    if [ -z "$byte" ]; then
      octal=$(printf '%03o' "0x$hex")
      # shellcheck disable=SC2059 # the format is the byte
      byte=$(printf "\\$octal.") # the full stop keeps a newline from being cut off
      byte=${byte%.}
      eval "byte_$hex=\$byte"
    fi
    name=$name$byte
  done
  name=$name$rest
}

# Sets $root and $entries (one encoded name a line) from stdin.
read_batch() {
  batch=$(cat)
  decode "${batch%%"$newline"*}"
  root=$name
  case $root in
  /*) ;;
  *) die "the first line of a batch is an absolute directory, not '$root'" ;;
  esac
  [ -d "$root" ] || die "no directory $root"
  export root
  case $batch in
  *"$newline"*) batch=${batch#*"$newline"} ;;
  *) batch= ;;
  esac
  entries=$batch
  case $newline$batch in
  *"$newline@"*) entries=$(expand_lists "$batch") || exit 2 ;;
  esac
}

expand_lists() {
  for entry in $1; do
    case $entry in
    @*)
      decode "${entry#@}"
      cat -- "$name" || die "the list $name cannot be read"
      echo
      ;;
    *) printf '%s\n' "$entry" ;;
    esac
  done
}

# Prints the entries that are plain files. Links are never followed (a loop cannot catch us), a pipe is never
# opened (it would never end), and what has gone since the list was made is passed over.
plain_files() {
  for entry in $entries; do
    decode "$entry"
    [ -h "$root/$name" ] || [ ! -f "$root/$name" ] || printf '%s\n' "$entry"
  done
}

# One awk reads every file of the batch. A worker adds three functions: begin() when a file is opened,
# look(line) for each of its lines, finish() at its end; `path`, `ext`, `source` and `at` (the line's number) are set.
# One that has seen enough of a file sets `enough`.
# shellcheck disable=SC2016,SC2034 # awk text, used by those who source this file
reader='
BEGIN {
  digits = "0123456789ABCDEF"
  split("c cc cpp cs cxx dart ex go h hh hpp java js jsx kt lua mjs php pl pm py rb rs scala sh swift ts tsx vue zig", list, " ")
  for (i in list) is_source[list[i]] = 1
}
{
  path = $0; file = ENVIRON["root"] "/" decode(path); at = binary = enough = crlf = 0
  ext = extension(path); source = (ext in is_source) && path !~ /\.min\.js$|\.d\.ts$/
  begin()
  while ((got = (getline line < file)) > 0) {
    at++
    if (at <= 20 && line ~ /[^\t\r\f -~\200-\377]/) { binary = 1; break }
    if (at == 1 && line ~ /\r$/) crlf = 1
    if (crlf) sub(/\r$/, "", line)
    look(line)
    if (enough) break
  }
  close(file)
  if (got < 0) unread++
  else { files++; if (!binary) finish() }
}
END {
  for (rank = 1; rank <= 3; rank++) {
    for (i = 1; i <= count[rank]; i++) {
      bytes += length(kept[rank, i]) + 1
      if (shown >= 40 || bytes > 6000) break
      print kept[rank, i]; shown++
    }
  }
  printf "sum\t%s\t%d\t%d\t%d\t%d\n", kind, files, count[1] + count[2] + count[3], shown, unread
}
function finding(severity, line, what,   rank) {
  rank = severity == "high" ? 1 : severity == "medium" ? 2 : 3
  count[rank]++
  if (count[rank] <= 40) kept[rank, count[rank]] = severity "\t" path "\t" line "\t" tidy(what)
}
# One printable line of at most 100 bytes, not cut in the middle of a character.
function tidy(text) {
  gsub(/[^ -~\200-\377]+/, " ", text); gsub(/  +/, " ", text); sub(/ $/, "", text)
  if (length(text) > 100) { text = substr(text, 1, 97); sub(/[\300-\377][\200-\277]*$/, "", text); text = text "..." }
  return text
}
function extension(name) {
  sub(/.*\//, "", name)
  if (name !~ /.\./) return ""
  sub(/.*\./, "", name)
  return tolower(name)
}
function decode(text,   out, mark, high, low) {
  while ((mark = index(text, "%")) > 0) {
    high = index(digits, substr(text, mark + 1, 1)) - 1; low = index(digits, substr(text, mark + 2, 1)) - 1
    if (mark + 2 > length(text) || high < 0 || low < 0) { out = out substr(text, 1, mark); text = substr(text, mark + 1); continue }
    out = out substr(text, 1, mark - 1) sprintf("%c", 16 * high + low); text = substr(text, mark + 3)
  }
  return out text
}
'

# Runs the worker's own awk ($2, which calls itself $1) over the files named on stdin.
inspect() {
  awk "$reader$2" kind="$1" -
}
