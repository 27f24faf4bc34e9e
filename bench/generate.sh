#!/usr/bin/env bash
# Writes the code of the peers: flatc 2.0.8 and protoc 3.21 must be installed,
# the other generators have the versions of go.mod.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -mod=mod -o "$bin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
go build -mod=mod -o "$bin/protoc-gen-go-vtproto" github.com/planetscale/vtprotobuf/cmd/protoc-gen-go-vtproto
(cd internal/pb && PATH="$bin:$PATH" protoc --go_out=. --go_opt=paths=source_relative \
	--go-vtproto_out=. --go-vtproto_opt=paths=source_relative,features=marshal+unmarshal+size market.proto)
(cd internal/fb && flatc --go --go-namespace fb --gen-onefile -o . ../../../market/backend.fbs && gofmt -w .)
(cd internal/mp && go run -mod=mod github.com/tinylib/msgp -file market.go -tests=false -io=false)
go mod tidy
