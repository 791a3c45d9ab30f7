#!/usr/bin/env bash
# The full figures of one commit. scripts/soak.sh [PART...], all of them without
# arguments:
#
#   fuzz    every fuzz target, SOAK_EXECUTIONS (1000000) each
#   kills   SOAK_ROUNDS (10) times 30 kills, 10 pauses and 10 losses of unsynced
#           bytes, under load, on one node and on three
#   race    all tests with the race detector and costly invariants
#   entry   appends to docs/soak.md what of these has been done
#
# What is done is kept in bin/soak/COMMIT: a run that was interrupted goes on
# where it was, and the entry tells no more than what stands there.
set -euo pipefail
cd "$(dirname "$0")/.."

executions=${SOAK_EXECUTIONS:-1000000}
rounds=${SOAK_ROUNDS:-10}
git diff --quiet HEAD -- . ':!docs/soak.md' || { echo "commit first: an entry names a commit" >&2; exit 1; }
commit=$(git rev-parse --short=12 HEAD)
done_dir=$PWD/bin/soak/$commit
mkdir -p "$done_dir"

fuzz() { ./scripts/fuzz.sh 0 "$executions" "$done_dir/fuzz"; }

kills() {
	local n began
	touch "$done_dir/kills"
	for ((n = $(wc -l <"$done_dir/kills"); n < rounds; n++)); do
		began=$SECONDS
		OTTLA_BIN=$PWD/bin/ottla go test -count=1 -v -timeout 1h -run '^Test(ThirtyKills|TenPauses|TenLosses)' \
			./internal/itest/processes >"$done_dir/round.log" 2>&1 || { tail -100 "$done_dir/round.log"; return 1; }
		printf '%s\t%s\n' "$(grep -c '^--- PASS' "$done_dir/round.log")" $((SECONDS - began)) >>"$done_dir/kills"
		echo "round $((n + 1)) of $rounds: $((SECONDS - began)) s"
	done
}

race() {
	local began=$SECONDS
	[ ! -e "$done_dir/race" ] || return 0
	go test -race -tags invariants -count=1 $(go list ./... | grep -v /internal/itest/) >"$done_dir/race.log" 2>&1 ||
		{ grep -v -e '^ok ' -e 'no test files' "$done_dir/race.log" | tail -100; return 1; }
	printf '%s\t%s\n' "$(grep -c '^ok' "$done_dir/race.log")" $((SECONDS - began)) >"$done_dir/race"
}

minutes() { echo $((($1 + 59) / 60)); }

sum() { awk -v c="$1" '{ n += $c } END { print n + 0 }' "$2"; }

# entry writes one line for each part that was at least begun, from what it left.
entry() {
	local fuzzed targets
	echo
	echo "## $(date -u +%Y-%m-%d), commit $commit"
	echo
	echo "| what | result | minutes |"
	echo "| --- | --- | --- |"
	if [ -s "$done_dir/fuzz" ]; then
		fuzzed=$(cut -f1,2 "$done_dir/fuzz" | sort -u | wc -l)
		targets=$(git grep -hoE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | wc -l)
		echo "| $fuzzed of $targets fuzz targets, at least $(cut -f3 "$done_dir/fuzz" | sort -n | head -1) executions each" \
			"| $(sum 3 "$done_dir/fuzz") executions, no failure | $(minutes "$(sum 4 "$done_dir/fuzz")") |"
	fi
	if [ -s "$done_dir/kills" ]; then
		echo "| $(wc -l <"$done_dir/kills") rounds of 30 kills, 10 pauses and 10 losses under load, on one node and on three" \
			"| $(sum 1 "$done_dir/kills") tests passed: nothing acknowledged lost or doubled | $(minutes "$(sum 2 "$done_dir/kills")") |"
	fi
	if [ -s "$done_dir/race" ]; then
		echo "| all tests with the race detector and costly invariants" \
			"| $(cut -f1 "$done_dir/race") packages passed | $(minutes "$(cut -f2 "$done_dir/race")") |"
	fi
}

[ $# -gt 0 ] || set -- fuzz kills race entry
for part in "$@"; do
	case $part in
	fuzz | kills | race) "$part" || { echo "FAILED: $part" >&2; exit 1; } ;;
	entry) entry | tee -a docs/soak.md ;;
	*) echo "unknown part $part" >&2; exit 1 ;;
	esac
done
