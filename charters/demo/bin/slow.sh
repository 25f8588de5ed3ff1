#!/bin/sh
# A worker that IS TOO SLOW ON PURPOSE: its profile gives it two seconds, it would take a minute. fleetd ends it and
# everything it started, and the turn is settled as timed_out.
echo "slow.sh: sleeping past the timeout on purpose" >&2
sleep 60
