#!/usr/bin/env bash
# Checks the promises of durable under faults, for about six minutes: power losses, full
# disks, a burst, steps of a clock, an entry that kills its process, and each fault of
# hwtdurable check once, or CHECKTIME of faults.
set -euo pipefail
module="$(dirname "$0")/cmd/hwtdurable"
program="${TMPDIR:-/tmp}/hwtdurable.$$"
go -C "$module" build -o "$program" .
trap 'rm -f "$program"' EXIT
command -v strace > /dev/null || echo "SKIPPED: power losses need strace"
[ "$(id -u)" = 0 ] || echo "SKIPPED: full file systems need root, which may mount them"
go -C "$module" test -count=1 -skip EachFault ./internal/check -cuts "${CUTS:-25}" -burst "${BURST:-20000}"
"$program" check --for "${CHECKTIME:-60s}" "$@"
