#!/usr/bin/env bash
# Checks the promises of durable under faults, for two minutes or CHECKTIME, with CUTS
# power losses in addition.
set -euo pipefail
cd "$(dirname "$0")/cmd/hwtdurable"
go build -o "${TMPDIR:-/tmp}/hwtdurable.$$" .
trap 'rm -f "${TMPDIR:-/tmp}/hwtdurable.$$"' EXIT
command -v strace > /dev/null || echo "SKIPPED: power losses need strace"
go test -count=1 -run PowerLoss ./internal/check -cuts "${CUTS:-60}"
"${TMPDIR:-/tmp}/hwtdurable.$$" check --for "${CHECKTIME:-95s}" "$@"
