#!/usr/bin/env bash
# Installs what the tests need and is not there yet: kcat and the tools for
# network namespaces, Java with Maven, and the jars of Apache Kafka.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${OTTLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ottla}
mkdir -p "$cache"

need() { # need COMMAND PACKAGE...
	command -v "$1" >/dev/null 2>&1 && return
	shift
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
		echo "please install: $*" >&2
		exit 1
	fi
	[ -e "$cache/.apt-updated" ] || { apt-get update -qq && touch "$cache/.apt-updated"; }
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

need kcat kcat
need ip iproute2
need iptables iptables
need javac openjdk-17-jdk-headless
need mvn maven

# kafka VERSION: the jars of one release, in a folder of their own.
kafka() {
	local lib="$cache/kafka-$1/lib"
	[ -e "$lib/.complete" ] && return
	rm -rf "$lib"
	mkdir -p "$lib"
	mvn -q -B -Dstyle.color=never -f itest/kafka/pom.xml -Dkafka.version="$1" \
		dependency:copy-dependencies -DoutputDirectory="$lib" >&2
	touch "$lib/.complete"
}
for version in "${@:-4.4.0}"; do kafka "$version"; done
