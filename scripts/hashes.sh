#!/usr/bin/env bash
# The same seed is the same story: scripts/hashes.sh SEEDS plays seeds with one
# processor and with two, built with the race detector and without, and compares
# the digests of all that happened.
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/plain" ./internal/sim
go test -race -c -o "$work/race" ./internal/sim
for build in plain race; do
	for processors in 1 2; do
		(cd internal/sim && GOMAXPROCS=$processors "$work/$build" -test.run '^TestPrintHashes$' -test.v -seeds "$seeds") |
			grep -o 'hash: .*' >"$work/$build-$processors"
		[ "$(wc -l <"$work/$build-$processors")" = "$seeds" ]
		cmp "$work/plain-1" "$work/$build-$processors"
	done
done
echo "ledger: $seeds seeds with GOMAXPROCS 1 and 2, with the race detector and without | equal digests"
