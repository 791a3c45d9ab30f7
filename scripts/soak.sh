#!/usr/bin/env bash
# The full figures. Appends one entry to docs/soak.md: commit, minutes, and what
# was run. SOAK_EXECUTIONS and SOAK_ROUNDS change how much.
set -euo pipefail
cd "$(dirname "$0")/.."

executions=${SOAK_EXECUTIONS:-1000000}
rounds=${SOAK_ROUNDS:-10}
commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD || commit="$commit, with changes"
report=$(mktemp)
trap 'rm -f "$report"' EXIT

part() { # part NAME COMMAND...: runs it, keeps its last line and its minutes
	local name=$1 began=$SECONDS out
	shift
	out=$("$@" 2>&1) || { echo "$out" | tail -50; echo "FAILED: $name" >&2; exit 1; }
	echo "| $name | $(tail -1 <<<"$out" | cut -c1-120) | $(((SECONDS - began + 59) / 60)) |" | tee -a "$report"
}

kills() {
	OTTLA_BIN=$PWD/bin/ottla go test -count="$rounds" -timeout 5h \
		-run 'TestThirtyKills|TestTenLosses' ./internal/itest/processes
}

part "every fuzz target, $executions executions each" ./scripts/fuzz.sh 0 "$executions"
part "$rounds x (30 kills under load, 10 losses of unsynced bytes)" kills
part "all tests with the race detector and costly invariants" \
	go test -race -tags invariants -count=1 $(go list ./... | grep -v /internal/itest/)

{
	echo
	echo "## $(date -u +%Y-%m-%d), commit $commit"
	echo
	echo "| what | result | minutes |"
	echo "| --- | --- | --- |"
	cat "$report"
} >>docs/soak.md
