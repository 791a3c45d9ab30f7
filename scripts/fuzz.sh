#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [EXECUTIONS]: runs every fuzz target in the tree.
# With SECONDS the time is shared out evenly (at least one second each); with
# EXECUTIONS each target runs that many instead. It fails when a target fails
# or when there is no target at all.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${1:?seconds}
executions=${2:-}
targets=()
while read -r file name; do
	targets+=("./$(dirname "$file") $name")
done < <(git grep -hoE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' >/dev/null &&
	git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed -E 's/:func / /')
[ "${#targets[@]}" -gt 0 ] || { echo "no fuzz targets found" >&2; exit 1; }

# The first share goes to building the instrumented packages.
each=$((budget / 2 / ${#targets[@]}))
[ "$each" -ge 1 ] || each=1
limit="${each}s"
[ -z "$executions" ] || limit="${executions}x"
echo "${#targets[@]} targets, $limit each"
ran=0
for target in "${targets[@]}"; do
	read -r package name <<<"$target"
	out=$(go test -run '^$' -fuzz "^$name\$" -fuzztime "$limit" "$package" 2>&1) || {
		echo "$out"
		echo "FAILED: $package $name" >&2
		exit 1
	}
	printf '%-40s %-36s %s\n' "$package" "$name" "$(grep -oE 'execs: [0-9]+' <<<"$out" | tail -1)"
	ran=$((ran + 1))
done
echo "$ran passed, 0 failed"
