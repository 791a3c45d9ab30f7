#!/usr/bin/env bash
# Runs every stage of the tests, quick ones first, stops at the first that
# fails, and prints how many minutes each took beside what it may take.
set -uo pipefail
cd "$(dirname "$0")/.."

report=()
stage() { # stage NAME MINUTES COMMAND...
	local name=$1 allowed=$2 began=$SECONDS status=0
	shift 2
	echo "=== stage $name (about $allowed min): $*"
	"$@" || status=$?
	local took=$((SECONDS - began))
	report+=("$(printf '%-10s %5s of %s min  %s' "$name" "$((took / 60)).$((took % 60 * 10 / 60))" "$allowed" "$([ $status = 0 ] && echo ok || echo FAILED)")")
	if [ $status != 0 ]; then
		summary
		exit $status
	fi
}
summary() {
	echo "=== stages"
	printf '%s\n' "${report[@]}"
}

stage deps 6 make -s deps
stage quick 3 make -s check
stage unit 5 make -s unit
stage explorer 4 make -s explorer
stage spec 4 make -s spec
stage simulation 5 make -s simulation
stage hashes 1 make -s hashes
stage persist 1 make -s persist
stage mutants 4 make -s mutants MUTANTS=sample
stage statements 4 make -s mutants STATEMENT=all
stage fuzz 3 make -s fuzz
stage processes 6 make -s processes
stage interop 13 make -s interop-some
summary
