#!/usr/bin/env bash
# Checks spec/ with the tools that scripts/deps.sh has installed. Its arguments go to
# the tests of internal/spec.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${OTTLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ottla}
export PATH="$cache/tla-checker-0.24.11/bin:$PATH"
go test -v -count=1 -timeout 3h -tags spec ./internal/spec "$@"
