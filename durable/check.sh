#!/usr/bin/env bash
# Checks the promises of durable under faults, for two minutes or CHECKTIME.
set -euo pipefail
cd "$(dirname "$0")/cmd/hwtdurable"
go build -o "${TMPDIR:-/tmp}/hwtdurable.$$" .
trap 'rm -f "${TMPDIR:-/tmp}/hwtdurable.$$"' EXIT
"${TMPDIR:-/tmp}/hwtdurable.$$" check --for "${CHECKTIME:-2m}" "$@"
