#!/usr/bin/env bash
# Writes (or with --check compares) everything that is generated from a schema in
# this repository.
set -euo pipefail
cd "$(dirname "$0")/.."
nova=(go run ./cmd/nova)
"${nova[@]}" generate "$@" --schema market/schema.json --go market --tests --fbs market --ts cmd/nova/page/src/market
"${nova[@]}" generate "$@" --schema examples/seismic/schema.json --go examples/seismic --fbs examples/seismic
"${nova[@]}" generate "$@" examples/stocks --tests --fbs examples/stocks
"${nova[@]}" generate "$@" codegen/internal/structs
"${nova[@]}" generate "$@" codegen/internal/structs/corners
"${nova[@]}" generate "$@" --schema bench/peers/internal/note/schema.json --go bench/peers/internal/note
go run ./wire/control/gen "$@"
