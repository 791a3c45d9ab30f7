# What a contributor runs. "make check" all day, "make test" before a push.

GO ?= go
BIN := bin

.PHONY: build check test quick unit explorer trace spec simulation simulated-disks hashes persist scenes mutants fuzz processes disks networks interop interop-some bench figures soak deps clean

build:
	$(GO) build -o $(BIN)/ottla ./cmd/ottla

# Under three minutes: build, vet, staticcheck, the rules of the house, short tests with the race detector.
check: $(BIN)/staticcheck
	@test -z "$$(git ls-files -z '*.go' | xargs -0 gofmt -l | tee /dev/stderr)"
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) vet -tags planted ./internal/planted
	$(GO) vet -tags hunt ./internal/sim
	$(GO) vet -tags spec ./internal/spec
	$(GO) vet -tags soak ./internal/itest/processes/networks
	$(BIN)/staticcheck ./...
	$(GO) test -short ./internal/lint
	$(GO) test -short -race $$($(GO) list ./... | grep -v -e /internal/itest/ -e /internal/lint)

# Everything, quick checks first; installs what is missing.
test:
	./scripts/stages.sh

quick: check

unit:
	$(GO) test -count=1 ./internal/lint
	$(GO) test -race -count=1 $$($(GO) list ./... | grep -v -e /internal/itest/ -e /internal/lint)

# The quorum in virtual time.
simulation:
	$(GO) test -v -count=1 -timeout 15m ./internal/sim -seeds 1000

# Every state of small quorums: first the toy on which the explorer is calibrated, then the core; each of its large
# scopes gets this long, or, with -1s, all it needs. SCOPE=NAME explores only that one.
EXPLORE ?= 10s
SCOPE ?=
explorer:
	$(GO) test -v -count=1 -timeout 60m ./internal/explore -toy-restarts 0
	$(GO) test -v -count=1 -timeout 180m -run 'ExploreTheCore' ./internal/core/raft -explore $(EXPLORE) -only '$(SCOPE)'

# Brokers with disks in virtual time, this many clusters.
CLUSTERS ?= 200
simulated-disks:
	$(GO) test -v -count=1 -timeout 60m -run 'TestSimulatedDisks' ./internal/node -disk-runs $(CLUSTERS)

# One seed is one story: with one processor and with two, with the race detector and without.
hashes:
	./scripts/hashes.sh 40

# Every step with which the quorum makes something durable: crashes before, in and after it, and faults of the disk.
persist:
	$(GO) test -v -count=1 -timeout 15m -run 'PersistSite' ./internal/drive/raftnode

# The quorum as spec/ has it, in TLA+ and in Promela: its properties, its planted mistakes, and that it reaches the states
# that the core reaches. SPEC=-large takes the large scopes, too.
SPEC ?=
spec: deps
	./scripts/spec.sh $(SPEC)

# Steps of simulated runs and of three real processes, held against the protocol as package abstract has it.
STEPS ?= 5000000
trace: build
	$(GO) test -v -count=1 -timeout 60m -run 'SimulatedStepsAreOfTheProtocol' ./internal/sim -steps $(STEPS)
	OTTLA_BIN=$(CURDIR)/$(BIN)/ottla $(GO) test -v -count=1 -timeout 10m -run 'StepsOfRealProcesses' ./internal/itest/processes

# The scenes of docs/kip-996.md: how many epochs each costs, over this many seeds of each.
SEEDS ?= 1000
scenes:
	$(GO) test -v -count=1 -timeout 120m -run 'Scenes|P4|P9|P10' ./internal/sim -scenes $(SEEDS)

# Planted bugs: all, or MUTANTS=sample for those whose turn it is by commit, or one by name. With STATEMENT=P4 or S5 the
# one of that statement of docs/kip-996.md or docs/kip-858.md, which turns no other statement red; with STATEMENT=P or S those
# of one page, with STATEMENT=all those of both.
MUTANTS ?= all
ifdef STATEMENT
mutants:
	$(GO) test -v -count=1 -timeout 30m -tags planted -run 'TestStatementBugs$$' ./internal/planted -statement $(STATEMENT)
else
mutants:
	$(GO) test -v -count=1 -timeout 120m -tags planted -run 'TestMutants$$|TestMistakesOfTheModel$$|TestAFailingSeedShrinks' ./internal/planted -mutants $(MUTANTS)
endif

fuzz:
	./scripts/fuzz.sh 180

processes: deps build
	./scripts/itest.sh ./internal/itest/processes/... -parallel 4 -timeout 20m

# Every disk of three brokers with four each fails under load and is mended or replaced; needs root and loop devices.
disks: build
	OTTLA_BIN=$(CURDIR)/$(BIN)/ottla $(GO) test -v -count=1 -timeout 20m -run EveryDiskFailsInTurn ./internal/itest/processes -disks 4

# What every event costs in epochs, with real processes in network namespaces; the long ones, too.
networks: build
	OTTLA_BIN=$(CURDIR)/$(BIN)/ottla $(GO) test -v -count=1 -tags soak -parallel 4 -timeout 30m -run Epoch ./internal/itest/processes/networks

# One cluster with Apache Kafka, in every cell of the matrix: hours. Writes docs/interop.md. CELL=row_1 plays only the
# cells whose names match.
CELL ?=
interop: deps build
	./scripts/itest.sh ./internal/itest/interop/... -parallel 1 -timeout 5h $(if $(CELL),-run 'TestMatrix/$(CELL)') -every -report docs/interop.md

# Some cells of the rows, and what else Apache Kafka's tools and servers do with ours.
interop-some: deps build
	$(GO) test -count=1 ./internal/itest/compare ./internal/itest/peer
	./scripts/itest.sh ./internal/itest/interop/... -parallel 2 -timeout 30m

bench:
	$(GO) test -run '^$$' -bench . -benchmem $$($(GO) list ./... | grep -v /internal/itest/)

# What docs/figures.md shows, of ottla and of Apache Kafka. FIGURES=/ottla leaves the other out.
FIGURES ?=
figures: deps build
	OTTLA_BIN=$(CURDIR)/$(BIN)/ottla $(GO) test -run '^$$' -bench 'FirstProduceAfterKill$(FIGURES)' -benchtime 5x -timeout 1h ./internal/itest/figures
	OTTLA_BIN=$(CURDIR)/$(BIN)/ottla $(GO) test -run '^$$' -bench 'FirstRecordEverywhere$(FIGURES)' -benchtime 3x -timeout 1h ./internal/itest/figures

# Hours, in parts that go on where they were interrupted; writes docs/soak.md.
soak: deps build
	./scripts/soak.sh

deps:
	./scripts/deps.sh

$(BIN)/staticcheck: tools/go.mod
	$(GO) -C tools build -o ../$(BIN)/staticcheck honnef.co/go/tools/cmd/staticcheck

clean:
	rm -rf $(BIN)
