# Every target does one thing and says so in `make help`.
SHELL := /bin/bash
GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 10s
NPM_DIRS := clients/typescript cmd/nova/page e2e schema/testdata/typebox codegen/docs/testdata/asyncapi

.PHONY: help setup node gen gen-check fmt lint test test-go test-ts test-browser fuzz bench bench-codec bench-calls bench-peers sim sim-short storm mutated schemas ci

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: ## install Chromium, flatc, the proxies and what else the tests need, where apt-get may
	@scripts/setup.sh

node: $(NPM_DIRS:%=%/node_modules/.stamp)

%/node_modules/.stamp: %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

gen: node ## regenerate every generated file
	@scripts/generate.sh
	cd clients/typescript && npm run --silent build
	cd cmd/nova/page && npm run --silent build

gen-check: node ## fail when a generated file is not what would be written
	@scripts/generate.sh --check
	cd cmd/nova/page && npm run --silent check

fmt: ## format the Go code
	gofmt -w $$(git ls-files -co --exclude-standard '*.go' | grep -v /testdata/)

lint: ## gofmt, go vet, staticcheck, and that it builds for macOS and Windows
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go' | grep -v /testdata/)); \
	  if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	cd bench && $(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./server ./client ./cmd/nova
	GOOS=windows $(GO) build ./server ./client ./cmd/nova

test: setup node test-go test-ts test-browser ## everything: Go with -race, TypeScript, the browser

test-go: ## Go tests with the race detector
	$(GO) test -race -timeout 15m ./...

test-ts: node ## TypeScript types, tests, size and package
	cd clients/typescript && npm run --silent typecheck && npm test --silent && npm run --silent size && npm run --silent pack-check
	cd cmd/nova/page && npm run --silent typecheck && npm test --silent
	cd e2e && npm run --silent typecheck

test-browser: node ## the demo page in headless Chromium
	cd e2e && npm test --silent

fuzz: ## each fuzz target for FUZZTIME
	@scripts/fuzz.sh $(FUZZTIME)

bench: ## compile and run every Go benchmark once, so that none rots
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...
	cd bench && $(GO) test -bench . -benchtime 1x ./...

bench-codec: node ## codec ratios against other formats, in one run
	cd bench && $(GO) run ./cmd/ratios
	cd clients/typescript && npm run --silent bench

bench-calls: ## calls beside connect-go and centrifuge; prints the tables of bench/CALLS.md
	cd bench && $(GO) run ./cmd/calls && $(GO) run ./cmd/calls -depth 16

bench-peers: bench/peers/js/node_modules/.stamp ## nova against other fan-out servers; an hour; writes bench/RESULTS.md
	cd bench && $(GO) run ./cmd/peers -out RESULTS.md

sim: ## the simulator over SEEDS programs (default 100000)
	NOVA_SIM_SEEDS=$(or $(SEEDS),100000) $(GO) test -count=1 -timeout 60m ./session/sim ./hub -run '^TestSim(Queue|Hub)$$'

sim-short: ## the simulator over 10,000 short programs, and every mutation it has to catch
	$(GO) test -count=1 -timeout 15m ./session/sim ./hub -run '^TestSim'

storm: ## CLIENTS clients (default 10000) lose their server and come back at its accept rate
	NOVA_STORM=$(or $(CLIENTS),10000) $(GO) test -count=1 -v -timeout 10m ./server -run '^TestReconnectStormOfThousands$$'

mutated: ## FRAMES damaged frames (default 10000000) against a live server
	NOVA_MUTATED_FRAMES=$(or $(FRAMES),10000000) $(GO) test -count=1 -timeout 60m -v ./server -run '^TestMutatedFrames$$'

schemas: ## SEEDS random schemas (default 10000): generated, compiled, and the same to Go, TypeScript and flatc
	NOVA_SCHEMAS=$(or $(SEEDS),10000) $(GO) test -count=1 -timeout 4h ./codegen/internal/language -run '^TestRandomSchemas$$' -v

ci: lint setup node gen-check test sim-short bench ## what has to pass before a change lands
