#!/bin/sh
# A worker that FAILS ON PURPOSE, so that the demo can show a partial failure: it inspects three files, prints what
# it found so far, complains and gives up. The turn ends as failed(exit 1); its text is kept all the same.
. "$(dirname -- "$0")/common.sh"
read_batch
plain_files | head -n 3 | while IFS= read -r entry; do
  printf 'low\t%s\t1\tseen: by the worker that gives up on purpose\n' "$entry"
done
echo "flaky.sh: giving up on purpose after three files" >&2
exit 1
