#!/usr/bin/env bash
# Runs the tests of a module with packages dropin/time and dropin/context in place of time
# and context, and prints the tests whose outcome differs. From the repository's root:
#
#   tools/trydropin.sh github.com/cenkalti/backoff/v5@v5.0.3
#   IMPORTS=time tools/trydropin.sh github.com/pion/sctp@v1.12.1 -short ./...
#
# Further arguments are those of go test, ./... by default. The tests run three times: as they
# are, with the go line raised to the library's, and with the new imports. The exit status is
# that of the last comparison.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
library=github.com/hashedwheel/hwt
module=${1:?usage: tools/trydropin.sh MODULE@VERSION [ARGUMENTS OF GO TEST]}
shift
[ $# -gt 0 ] || set -- ./...
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOWORK=off

json=$(go mod download -json "$module")
path() { sed -n "s/.*\"$1\": \"\(.*\)\".*/\1/p" <<< "$json"; }
cp -r "$(path Dir)" "$work/m"
chmod -R u+w "$work/m"
cd "$work/m"
rm -rf vendor
[ -e go.mod ] || cp "$(path GoMod)" go.mod # of a release before modules
go mod edit -toolchain=none
grep -q '^go ' go.mod || go mod edit -go=1.16
for replaced in $(go mod edit -json | sed -n '/"Replace"/,$ s/.*"Path": "\([^"]*\)".*/\1/p'); do # archives lack the folders beside a module
  case $replaced in ./* | ../*) [ -e "$replaced/go.mod" ] || go mod edit -dropreplace="$last" ;; esac
  last=$replaced
done

# run NAME: runs the tests, and writes their outcomes to the file NAME, sorted.
run() {
  go test -json -count=1 -vet=off -mod=mod -timeout=5m "${@:2}" > "$work/$1.json" || true
  sed -n 's/.*"Action":"\(pass\|fail\)","Package":"\([^"]*\)"\(,"Test":"\([^"]*\)"\)\?.*/\2 \4 \1/p' "$work/$1.json" | sort > "$work/$1"
  echo "$1: $(grep -c ' pass$' "$work/$1" || true) tests and packages pass, $(grep -c ' fail$' "$work/$1" || true) fail"
}

run before "$@"
go mod edit -go="$(sed -n 's/^go //p' "$root/go.mod")"
run raised "$@"
diff "$work/before" "$work/raised" || echo "the go line makes this difference"
go mod edit -require=$library@v0.0.0 -replace=$library="$root"
imports=${IMPORTS:-time,context}
find . -name '*.go' -exec sed -i -E "s#^(\s*(import\s+)?([A-Za-z_.]\w*\s+)?)\"(${imports//,/|})\"\s*\$#\1\"$library/dropin/\4\"#" {} +
moved=$(grep -rl --include='*.go' "$library/dropin/" . | wc -l || true)
[ "$moved" -gt 0 ] || { echo "no file imports $imports" >&2; exit 1; }
echo "the imports of $moved files are changed"
run moved "$@"
diff "$work/raised" "$work/moved"
