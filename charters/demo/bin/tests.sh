#!/bin/sh
# A worker that looks for code without tests: none in the file, and no test file beside it or in a folder for tests.
# The shell looks for neighbours, which costs no process; awk then reads only the files that have none.
. "$(dirname -- "$0")/common.sh"
read_batch

# Is there a file in which a test of $folder/$stem.$ext would usually stand?
has_neighbour() {
  set -- "$root/$folder" "$root/${folder%/*}"
  for place in "$1" "$1/tests" "$1/test" "$1/__tests__" "$1/spec" "$2/tests" "$2/test" "$2/spec"; do
    [ -d "$place" ] || continue
    for test in "${stem}_test" "test_$stem" "$stem.test" "$stem.spec" "${stem}_spec" "${stem}Test" "${stem}Tests" "test-$stem"; do
      [ ! -f "$place/$test.$ext" ] || return 0
    done
  done
  for place in "$1/tests" "$1/test" "$1/$stem" "$2/tests" "$2/test" "${1%%/src*}/tests"; do
    [ ! -f "$place/$stem.$ext" ] && [ ! -f "$place/tests.$ext" ] || return 0
  done
  case $root/$folder in # Java, Kotlin, Scala: src/main/… and src/test/…
  */src/main/*) [ ! -f "${1%%/src/main/*}/src/test/${1#*/src/main/}/${stem}Test.$ext" ] || return 0 ;;
  esac
  return 1
}

untested_files() {
  for entry in $(plain_files); do
    case $entry in
    *[Tt]est*/* | *[Ss]pec*/* | *example*/* | *bench*/* | *fixture*/* | *vendor/* | *third_party/*) continue ;;
    *.py | *.rs | *.go | *.js | *.jsx | *.mjs | *.ts | *.tsx | *.rb | *.java | *.kt | *.c | *.cc | *.cpp | *.cs | *.php | *.swift | *.scala | *.ex) ;;
    *) continue ;;
    esac
    decode "$entry"
    file=/$name stem=${name##*/}
    folder=${file%/*} folder=${folder#/} ext=${stem##*.} stem=${stem%.*}
    case $stem in
    *[Tt]est* | *[Ss]pec* | conftest | __init__ | mod | main | index | lib | build | setup | *.d | *.min | *.config) continue ;;
    esac
    has_neighbour || printf '%s\n' "$entry"
  done
}

untested_files | inspect tests '
function begin() { tested = 0; logic = 0 }
function look(line) {
  if (line ~ /#\[(cfg\()?(tokio::)?test|^[ \t]*(async +)?def test_|^>>> |unittest|[^A-Za-z]TEST(_F|_P)?\(|^test "|@generated|DO NOT EDIT/) tested = enough = 1
  else if (line ~ /^[ \t]*[^ \t\/#*]/) logic++
}
function finish() {
  if (source && !tested && logic >= 60) finding(logic >= 300 ? "medium" : "low", 1, "no test: " logic " lines of code, no test in it or near it")
}'
