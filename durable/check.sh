#!/usr/bin/env bash
# Checks the promises of durable under faults, for about four minutes: power losses, full
# disks, a burst, and CHECKTIME of kills, stops, and broken connections.
set -euo pipefail
cd "$(dirname "$0")/cmd/hwtdurable"
go build -o "${TMPDIR:-/tmp}/hwtdurable.$$" .
trap 'rm -f "${TMPDIR:-/tmp}/hwtdurable.$$"' EXIT
command -v strace > /dev/null || echo "SKIPPED: power losses need strace"
go test -count=1 -run 'PowerLoss|FullStores|Burst$' ./internal/check -cuts "${CUTS:-60}" -burst "${BURST:-20000}"
"${TMPDIR:-/tmp}/hwtdurable.$$" check --for "${CHECKTIME:-75s}" "$@"
