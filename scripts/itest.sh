#!/usr/bin/env bash
# itest.sh PACKAGES TEST-FLAG...: runs the tests of packages that start real
# processes, and ends with the seconds that each took, slowest first. A test's
# own lines are shown, with the seeds of what was random.
set -uo pipefail
cd "$(dirname "$0")/.."

packages=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT

OTTLA_BIN=$PWD/bin/ottla ${GO:-go} test -v -count=1 -p 1 "$packages" "$@" 2>&1 | tee "$log" | grep -v '^=== '
status=${PIPESTATUS[0]}

echo "--- seconds of each test in $packages"
sed -nE 's/^ *--- [A-Z]+: ([^ ]+) \(([0-9.]+)s\)$/\2 \1/p' "$log" | sort -rn | awk '$1 >= 1 { printf "%7.1f  %s\n", $1, $2 }'
if [ "$status" != 0 ]; then
	echo "--- what failed tests said"
	awk -f scripts/failed.awk "$log" | cut -c1-400 | tail -60
fi
exit "$status"
