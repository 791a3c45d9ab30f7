#!/usr/bin/env bash
# Installs what the tests need and is not there yet: a C compiler for the race
# detector, kcat, the tools for network namespaces, Java with Maven, the jars of
# Apache Kafka, and the checkers of spec/: SPIN, and tla-checker, which is built
# with Rust 1.88 or newer. As root on a Debian that is new enough it needs nothing
# but apt and Go; elsewhere it says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${OTTLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ottla}
mkdir -p "$cache"

missing=()
need() { # need COMMAND PACKAGE...
	command -v "$1" >/dev/null 2>&1 || missing+=("${@:2}")
}
need git git
need gcc gcc libc6-dev
need kcat kcat
need ip iproute2
need iptables iptables
need mkfs.ext4 e2fsprogs
need mount mount
need javac default-jdk-headless
need mvn maven
need spin spin
need cargo cargo

install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }

if [ "${#missing[@]}" -gt 0 ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
		echo "please install: ${missing[*]}" >&2
		exit 1
	fi
	# Lists that are missing or old show only when a package is not found.
	install 2>/dev/null || { apt-get update -qq && install; }
fi

# kafka VERSION: the jars of one release, in a folder of their own that appears
# whole or not at all.
kafka() {
	local lib="$cache/kafka-$1/lib" part="$cache/kafka-$1/lib.$$"
	if [ -e "$lib/.complete" ]; then
		one_backend "$lib"
		return
	fi
	rm -rf "$lib" "$cache/kafka-$1/lib."*
	mkdir -p "$part"
	for pause in 0 5 20 60 end; do # a repository may have a bad moment, and the network be away for minutes
		[ "$pause" != end ] || return 1
		sleep "$pause"
		fetch "$1" "$part" && break
	done
	one_backend "$part"
	touch "$part/.complete"
	mv -T "$part" "$lib"
}
fetch() {
	mvn -q -B -Dstyle.color=never -f itest/kafka/pom.xml -Dkafka.version="$1" \
		dependency:copy-dependencies -DoutputDirectory="$2" >&2
}
# Releases up to 3.9 bring a second backend of slf4j, and chance says which logs.
one_backend() { rm -f "$1"/slf4j-reload4j-*.jar; }
# The newest release stands beside us everywhere; the older ones in mixed clusters,
# 3.9 as voters that do not know pre-votes.
[ $# -gt 0 ] || set -- 4.4.0 3.9.2 4.0.2 4.1.2 4.3.1
for version; do kafka "$version"; done

# tla VERSION: the checker of TLA+, in a folder of its own. Built without the
# optimization at linking that triples the minutes.
tla() {
	local to="$cache/tla-checker-$1"
	[ -x "$to/bin/tla" ] && return
	if [ "$(printf '%s\n' 1.88 "$(rustc --version | cut -d' ' -f2)" | sort -V | head -1)" != 1.88 ]; then
		echo "please install Rust 1.88 or newer: tla-checker needs it, and this is $(rustc --version)" >&2
		exit 1
	fi
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		cargo install --quiet --locked --bin tla --version "$1" --root "$to" tla-checker >&2
}
tla 0.24.11
