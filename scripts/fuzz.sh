#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [EXECUTIONS [STATE]]: runs every fuzz target in the
# tree: all of them in about SECONDS, or each for at least EXECUTIONS. It tells
# what each target ran, and fails when one fails, when one ran less than it was
# asked for, or when there is no target at all.
#
# STATE is a file with a line for each target that has run: package, target,
# executions, seconds. Those that stand there with enough executions are not run
# again, so that a run that was interrupted goes on.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${1:?seconds}
executions=${2:-0}
state=${3:-}
module=$(go list -m)
corpus=$(go env GOCACHE)/fuzz # where go test keeps what it found interesting
binaries=$PWD/bin/fuzz
mapfile -t targets < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed -E 's,/[^/]+:func , ,' | sort -u)
[ "${#targets[@]}" -gt 0 ] || { echo "no fuzz targets found" >&2; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

binary() { echo "$binaries/${1//\//-}.test"; }

# build PACKAGE: one binary serves all targets of a package. Instrumented are the
# package and the base floor, where most decoders are, and for batches the codecs.
# -fuzz would do it with everything: with a hundred thousand branches an execution
# spends nearly all of its time on their counters.
build() {
	local flags=() paths=("$module/$1" "$module/internal/base/...") path
	[ "$1" != internal/base/batch ] || paths+=(github.com/klauspost/compress/... github.com/pierrec/lz4/...)
	for path in "${paths[@]}"; do flags+=(-gcflags "$path=-d=libfuzzer"); done
	go test -c "${flags[@]}" -o "$(binary "$1")" "./$1"
}

# finished PACKAGE TARGET: what STATE says it ran, if that is enough.
finished() {
	[ -n "$state" ] && [ -e "$state" ] || return 1
	awk -v p="$1" -v t="$2" -v n="$executions" '$1 == p && $2 == t && $3 >= n { ran = $3 } END { print ran; exit ran == "" }' "$state"
}

# ended_late tells a run that was stopped by its time limit while a worker was
# busy, which is reported as a failure with nothing but this line and without a
# failing input.
ended_late() {
	[ "$executions" = 0 ] && grep -q '^ *context deadline exceeded$' "$log" && ! grep -qE 'Failing input|panic|_test.go:|fuzzing process' "$log"
}

# run PACKAGE TARGET LIMIT: leaves what it printed in $log. An interesting input
# is made smaller with few tries, which would else take most of the time.
run() {
	(
		cd "$1" && "$(binary "$1")" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$3" -test.fuzzminimizetime 64x \
			-test.fuzzcachedir "$corpus/$module/$1"
	) >"$log" 2>&1 || ended_late
}

report() { # report PACKAGE TARGET EXECUTIONS SECONDS
	printf '%-34s %-24s %9s executions in %4s s\n' "$@"
}

mkdir -p "$binaries"
for package in $(printf '%s\n' "${targets[@]}" | cut -d' ' -f1 | sort -u); do build "$package"; done

least=1
limit="${executions}x"
if [ "$executions" = 0 ]; then
	each=$(((budget - SECONDS) / ${#targets[@]}))
	limit="$((each > 1 ? each : 1))s"
else
	least=$executions
fi
echo "${#targets[@]} targets, $limit each; the binaries took $SECONDS s"

total=0 failed=()
for target in "${targets[@]}"; do
	read -r package name <<<"$target"
	if count=$(finished "$package" "$name"); then
		report "$package" "$name" "$count" "-"
		total=$((total + count))
		continue
	fi
	began=$SECONDS
	if ! run "$package" "$name" "$limit"; then
		cat "$log"
		failed+=("$package $name failed")
		continue
	fi
	count=$(grep -oE 'execs: [0-9]+' "$log" | tail -1 | cut -d' ' -f2 || true)
	report "$package" "$name" "${count:-0}" $((SECONDS - began))
	total=$((total + ${count:-0}))
	if [ "${count:-0}" -lt "$least" ]; then
		failed+=("$package $name ran ${count:-0} executions of $least")
	elif [ -n "$state" ]; then
		printf '%s\t%s\t%s\t%s\n' "$package" "$name" "$count" $((SECONDS - began)) >>"$state"
	fi
done
for what in ${failed[@]+"${failed[@]}"}; do echo "FAILED: $what" >&2; done
[ "${#failed[@]}" = 0 ] || exit 1
echo "${#targets[@]} fuzz targets, $total executions, no failure"
