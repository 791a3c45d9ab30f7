#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [EXECUTIONS]: runs every fuzz target in the tree, each
# for its share of SECONDS (at least one), or for EXECUTIONS. It fails when a
# target fails or when there is no target at all.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${1:?seconds}
executions=${2:-}
mapfile -t targets < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed -E 's,/[^/]+:func , ,')
[ "${#targets[@]}" -gt 0 ] || { echo "no fuzz targets found" >&2; exit 1; }

# Half of the time goes to building the instrumented packages.
each=$((budget / 2 / ${#targets[@]}))
[ "$each" -ge 1 ] || each=1
limit="${each}s"
[ -z "$executions" ] || limit="${executions}x"
echo "${#targets[@]} targets, $limit each"
total=0

# ended_late tells a run that was stopped by its time limit while a worker was
# busy, which go test reports as a failure with nothing but this line and without
# a failing input.
ended_late() {
	grep -q '^ *context deadline exceeded$' <<<"$1" && ! grep -qE 'Failing input|panic|_test.go:|fuzzing process' <<<"$1"
}

for target in "${targets[@]}"; do
	read -r package name <<<"$target"
	out=$(go test -run '^$' -fuzz "^$name\$" -fuzztime "$limit" "./$package" 2>&1) || ended_late "$out" || {
		echo "$out"
		echo "FAILED: $package $name" >&2
		exit 1
	}
	count=$(grep -oE 'execs: [0-9]+' <<<"$out" | tail -1 | cut -d' ' -f2)
	printf '%-40s %-36s %9s executions\n' "$package" "$name" "${count:-0}"
	total=$((total + ${count:-0}))
done
[ "$total" -gt 0 ] || { echo "no fuzz target ran" >&2; exit 1; }
echo "${#targets[@]} fuzz targets, $total executions, no failure"
