#!/usr/bin/env bash
# The full figures of one commit. scripts/soak.sh [PART...], all of them without
# arguments:
#
#   sim       SOAK_RUNS (10000) runs of the simulated quorum, 60 s each, and more
#             until SOAK_MINUTES (30) are full
#   scenes    SOAK_SEEDS (1000) seeds of each scene; P4 in all orders; as many
#             runs that end with a majority of the disks lost
#   mutants   every planted bug
#   persist   every persist point: crashes and faults
#   explorer  all scopes to their end: a line each, and their sum; fails if one
#             does not finish
#   trace     steps of simulated runs and of real processes, checked against the
#             abstract model
#   spec      the specification in TLA+ and SPIN
#   hashes    the same digests with any GOMAXPROCS, and with the race detector
#   fuzz      every fuzz target, SOAK_EXECUTIONS (1000000) each
#   clusters  2000 simulated clusters of brokers with disks
#   kills     SOAK_ROUNDS (10) times 30 kills, 10 pauses and 10 losses of unsynced
#             bytes, under load, on one node and on three
#   disks     every disk of three brokers fails under load
#   race      all tests with the race detector and costly invariants
#   entry     appends to docs/soak.md what of these has been done
#
# What is done is kept in bin/soak/COMMIT: a run that was interrupted goes on
# where it was, and the entry tells no more than what stands there.
set -euo pipefail
cd "$(dirname "$0")/.."

executions=${SOAK_EXECUTIONS:-1000000}
rounds=${SOAK_ROUNDS:-10}
runs=${SOAK_RUNS:-10000}
seeds=${SOAK_SEEDS:-1000}
least=${SOAK_MINUTES:-30}
git diff --quiet HEAD -- . ':!docs/soak.md' || { echo "commit first: an entry names a commit" >&2; exit 1; }
commit=$(git rev-parse --short=12 HEAD)
done_dir=$PWD/bin/soak/$commit
mkdir -p "$done_dir"

# simtest is the tests of the simulator, built once for a commit.
simtest() {
	[ -x "$done_dir/sim.test" ] || go test -c -o "$done_dir/sim.test" ./internal/sim
	(cd internal/sim && "$done_dir/sim.test" -test.timeout 0 -test.v "$@")
}

# Each chunk of 250 runs leaves a line: runs, simulated seconds, events, checks,
# kinds of faults, seconds it took, its first seed, crashes at each persist point
# (with commas). A failing seed ends it.
sim() {
	local n chunk
	touch "$done_dir/sim"
	for ((n = $(sum 1 "$done_dir/sim"); n < runs || $(sum 6 "$done_dir/sim") < least * 60; n += chunk)); do
		chunk=$((n < runs && runs - n < 250 ? runs - n : 250))
		simtest -test.run '^TestSeeds$' -first $n -seeds $chunk -length 60s -ledger "$done_dir/sim" >"$done_dir/sim.log" ||
			{ grep -v '^=== ' "$done_dir/sim.log"; return 1; }
		echo "runs $n to $((n + chunk - 1)): $(tail -1 "$done_dir/sim" | cut -f1-6)"
	done
}

# persist_points says how many persist points a crash of any chunk came at.
persist_points() {
	cut -f8 "$done_dir/sim" | awk -F, '{ for (i = 1; i <= NF; i++) n[i] += $i; all = NF } END { for (i in n) hit += n[i] > 0; print hit + 0 " of " all + 0 }'
}

# Each scene leaves a line: its name, seeds, least and most epochs, seconds, and,
# where most seeds but not all have to cost the least, which cost more.
scenes() {
	local name
	touch "$done_dir/scenes"
	for name in $(simtest -test.run '^TestSceneNames$' | sed -n 's/.*scene: //p') P4 P9 P10 ruined; do
		! cut -f1 "$done_dir/scenes" | grep -qx "$name" || continue
		case $name in
		P4 | P9 | P10) simtest -test.run "^Test$name" -scenes "$seeds" -ledger "$done_dir/scenes" ;;
		ruined) simtest -test.run '^TestRuinedQuorumsStop$' -scenes "$seeds" -length 60s -ledger "$done_dir/scenes" ;;
		*) simtest -test.run "^TestScenesCostTheirEpochs\$/^$name\$" -scenes "$seeds" -ledger "$done_dir/scenes" ;;
		esac >"$done_dir/scenes.log" || { grep -v '^=== ' "$done_dir/scenes.log"; return 1; }
		grep -E 'scene_test.go:|^ok|^PASS' "$done_dir/scenes.log" | grep -v '^PASS' || true
	done
}

# told NAME COMMAND...: once for a commit; keeps what the command prints as
# "ledger: WHAT | RESULT" and how long it took.
told() {
	local name=$1 began=$SECONDS
	shift
	[ ! -e "$done_dir/$name.rows" ] || return 0
	"$@" >"$done_dir/$name.log" 2>&1 || { tail -100 "$done_dir/$name.log"; return 1; }
	sed -n 's/.*ledger: \(.*\)/\1/p' "$done_dir/$name.log" >"$done_dir/$name.new"
	[ -s "$done_dir/$name.new" ] || { echo "$name tells nothing"; return 1; }
	awk -v m=$(((SECONDS - began + 59) / 60)) '{ print "| " $0 " | " m " |" }' "$done_dir/$name.new" >"$done_dir/$name.rows"
	cat "$done_dir/$name.rows"
}

mutants() { told mutants make -s mutants; }
persist() { told persist make -s persist; }
explorer() { told explorer make -s explorer EXPLORE=-1s; }
trace() { told trace make -s trace; }
spec() { told spec make -s spec SPEC=-large; }
disks() { told disks make -s disks; }
hashes() { told hashes ./scripts/hashes.sh 200; }

clusters() { told clusters make -s simulated-disks CLUSTERS=2000; }

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

sum() { awk -v c="$1" '{ n += $c } END { printf "%.0f\n", n }' "$2"; }

most() { awk -v c="$1" '$c > n { n = $c } END { print n + 0 }' "$2"; }

# scene_rows is a line for each number of epochs that scenes cost, with their names.
scene_rows() {
	awk -F'\t' '
		$1 == "P4" { told["P4: B stays leader of epoch 2 in " $2 " orders of the links"] = $5; next }
		$1 == "P9" { told["P9: no needless epoch at both levels of kraft.version, " $2 " seeds each"] = $5; next }
		$1 == "P10" { told["P10: mixed quorums, " $2 " seeds each: at most one leader in an epoch, no longer without one than F more"] = $5; next }
		$1 == "ruined" { told[$2 " runs that lose a majority of their disks: nothing is committed or led afterwards"] = $5; next }
		{
			cost = $2 " seeds each: " ($3 == $4 ? "exactly " $3 : $3 " to " $4) ($4 == 1 ? " epoch" : " epochs")
			names[cost] = names[cost] (names[cost] ? ", " : "") $1 ($6 ? " (more than the least in seeds, with epochs: " $6 ")" : "")
			took[cost] += $5
		}
		END {
			for (cost in names) printf "| scenes: %s | %s | %d |\n", names[cost], cost, (took[cost] + 59) / 60
			for (what in told) printf "| scenes: %s | held | %d |\n", what, (told[what] + 59) / 60
		}' "$done_dir/scenes" | sort
}

# entry writes the lines of each part that was at least begun, from what it left.
entry() {
	local fuzzed targets took part
	echo
	echo "## $(date -u +%Y-%m-%d), commit $commit"
	echo
	echo "| what | result | minutes |"
	echo "| --- | --- | --- |"
	if [ -s "$done_dir/sim" ]; then
		took=$(sum 6 "$done_dir/sim")
		echo "| $(sum 1 "$done_dir/sim") simulated runs of 60 s, seeds 0 to $(($(sum 1 "$done_dir/sim") - 1)); $(most 5 "$done_dir/sim") kinds of faults hit; crashes at $(persist_points) persist points" \
			"| $(sum 2 "$done_dir/sim") simulated seconds, $(($(sum 2 "$done_dir/sim") / (took + 1))) in each; $(sum 3 "$done_dir/sim") events, $(sum 4 "$done_dir/sim") checks, no failing seed" \
			"| $(minutes "$took") |"
	fi
	if [ -s "$done_dir/scenes" ]; then
		scene_rows
	fi
	for part in mutants persist explorer trace spec hashes clusters disks; do
		[ ! -s "$done_dir/$part.rows" ] || cat "$done_dir/$part.rows"
	done
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

[ $# -gt 0 ] || set -- sim scenes mutants persist explorer trace spec hashes clusters fuzz kills disks race entry
for part in "$@"; do
	case $part in
	sim | scenes | mutants | persist | explorer | trace | spec | hashes | clusters | fuzz | kills | disks | race)
		"$part" || { echo "FAILED: $part" >&2; exit 1; } ;;
	entry) entry | tee -a docs/soak.md ;;
	*) echo "unknown part $part" >&2; exit 1 ;;
	esac
done
