# Everything a person or a pipeline runs. `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Else every process of the tests compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 22

$(VENV)/.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	@touch $@

.PHONY: venv
venv: $(VENV)/.done ## the Python environment for operator and tests

RALLY := .venv-rally
$(RALLY)/.done: pyproject.toml
	$(PYTHON) -m venv $(RALLY)
	$(RALLY)/bin/pip install --quiet --disable-pip-version-check --no-compile esrally==2.13.0 hdrhistogram==0.10.8 pyarrow==26.0.1 pytest==9.2.0 pytest-timeout==2.4.0 hypothesis==6.170.15
	@touch $@

.PHONY: venv-rally
venv-rally: $(RALLY)/.done ## Rally's own Python environment: its pins conflict with the operator's

.PHONY: build-cluster cluster clean-cluster kubeconfig
build-cluster: ## the programs and images of the cluster, into the cache; nothing is started
	$(PYTHON) -m localkube build
cluster: ## a real Kubernetes with ECK (built once, cached); CLUSTER=current uses the current context
	$(PYTHON) -m localkube up
clean-cluster: ## stop it and leave nothing behind (the build cache stays)
	$(PYTHON) -m localkube down
.PHONY: groonga-image
groonga-image: cluster ## the image of the examples with Groonga, in the node
	@$(PYTHON) -m localkube example-image groonga
kubeconfig: ## a line for your shell: eval its output, and kubectl (ours, where you have none) talks to the cluster
	@$(PYTHON) -m localkube kubeconfig

.PHONY: lint generate check
# A fresh checkout takes what mypy found in files of the same text, of whatever checkout; one at a time.
MYPY_CACHE := $(or $(FAIRLAP_CACHE),$(HOME)/.cache/fairlap)/mypy
lint: venv ## ruff and mypy
	$(BIN)/ruff check operator localkube tests bench examples tracks
	$(BIN)/ruff format --check operator localkube tests bench examples tracks
	@mkdir -p "$(MYPY_CACHE)"
	MYPY_CACHE_DIR="$(MYPY_CACHE)" $(if $(shell command -v flock),flock "$(MYPY_CACHE)") $(BIN)/mypy operator/fairlap operator/fairlap_race operator/fairlap_docs localkube
check: lint test-unit ## the gate before each commit: lint, types, pure tests
test-unit: venv ## the pure parts alone
	$(BIN)/pytest -n 4 --dist worksteal -q -m "not long" tests/unit  # some wait for seconds, one after the other in a file
.PHONY: test prepare test-unit test-full-size test-rally test-race test-api test-e2e test-together
test: prepare test-together test-e2e ## lint, types, and all tests but the long ones
prepare:  # what is built is mostly waited for: the gate passes meanwhile
	@$(MAKE) --no-print-directory --jobs=3 venv-rally build-cluster check
# What is built, is built before: then all of them share the processors. A cluster with nothing to do takes a tenth of
# one, and only test-e2e needs it: so it is begun last.
test-together: venv venv-rally build-cluster
	$(MAKE) --jobs=3 --output-sync=target test-rally test-race test-api test-report cluster
test-rally: venv-rally ## the track checks against Rally's own loader
	PYTHONPATH=operator $(RALLY)/bin/python -m pytest -q -m "not long" tests/rally
.PHONY: test-elastic-tracks
test-elastic-tracks: ## TRACKS=DIR: a checkout of Elastic's repository: `track check` finds no error, and races of its tracks in test mode count
	@test -n "$(TRACKS)" || { echo "Say where the checkout is: TRACKS=DIR make test-elastic-tracks" >&2; exit 1; }
	@$(MAKE) --no-print-directory venv venv-rally
	FAIRLAP_RALLY_TRACKS="$(abspath $(TRACKS))" PYTHONPATH=operator $(RALLY)/bin/python -m pytest -q tests/rally/test_elastic_tracks.py
	FAIRLAP_RALLY_TRACKS="$(abspath $(TRACKS))" FAIRLAP_RALLY_ELASTICSEARCH="$(VERSION)" $(BIN)/pytest tests/soak/test_elastic_tracks_raced.py
test-race: venv venv-rally ## the race runner against a real Elasticsearch on loopback
	$(BIN)/pytest -n 2 --durations=10 -m "not long" tests/race
test-api: venv ## a real API server, fake ECK and Job controllers, kill -9 loops
	$(BIN)/pytest -n 4 --dist loadfile -m "not long" tests/api
AXE := tests/report/node_modules/.done
$(AXE): tests/report/package-lock.json | chromium
	npm ci --prefix tests/report --no-audit --no-fund --ignore-scripts --silent
	@touch $@
.PHONY: chromium test-report pictures
chromium: ## Debian's Chromium and npm, where they are not there; CHROMIUM=FILE takes another one
	@missing="$$(test -n "$(CHROMIUM)" || command -v chromium >/dev/null || echo chromium fonts-dejavu-core)"; \
	missing="$$missing $$(command -v npm >/dev/null || echo npm)"; \
	test -z "$${missing// /}" || { echo "for the tests of the report: apt-get install $$missing"; \
	  test "$$(id -u)" = 0 || { echo "Install these, or say where Chromium is (CHROMIUM=FILE)" >&2; exit 1; }; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }
test-report: venv chromium $(AXE) ## the report of a Comparison in headless Chromium: desktop, phone, paper
	$(BIN)/pytest -n 2 -q -m "not long" tests/report
pictures: venv chromium $(AXE) ## the pictures in docs/pictures, made by that test
	@mkdir -p docs/pictures
	FAIRLAP_PICTURES=docs/pictures $(BIN)/pytest -q tests/report -k pictures
test-e2e: venv cluster ## a real cluster with ECK, Elasticsearch and Rally
	$(BIN)/pytest -n 4 --dist loadfile --durations=25 -m "not long" tests/e2e
.PHONY: test-long
test-long: venv venv-rally chromium $(AXE) cluster ## what takes longest of the pure tests, the tracks, the races, the API, the report and the end-to-end tests, one after the other
	$(BIN)/pytest -n 2 -q -m long tests/unit
	PYTHONPATH=operator $(RALLY)/bin/python -m pytest -q -m long tests/rally
	$(BIN)/pytest -m long tests/race  # apart: it takes a network of its own
	$(BIN)/pytest -n 4 -m long tests/api
	$(BIN)/pytest -n 2 -q -m long tests/report
	$(BIN)/pytest -m long tests/e2e
.PHONY: soak
soak: test-long ## long proofs, hours; goes on where it was stopped. SOAK_SEED=N; SOAK_MINUTES=M for each that has no end of its own
	$(BIN)/pytest -n 2 --dist loadfile tests/soak
test-full-size: venv cluster ## the examples of data larger than memory and of replicas as they are (half an hour)
	FAIRLAP_FULL_SIZE=1 $(BIN)/pytest --timeout 7200 tests/e2e/test_examples.py -k 'codec or replicas'
generate: venv ## crds/, the chart's copy, docs/reference.md, docs/reasons.md and the picture in docs/architecture.md
	$(BIN)/python -m fairlap.api.crd crds
	cp crds/*.yaml charts/fairlap/crds/
	$(BIN)/python -m fairlap_docs docs

.PHONY: demo
demo: venv cluster ## cluster, operator, a Comparison of two versions, its verdict and report; CLUSTER=current as above
	$(if $(filter current,$(CLUSTER)),,$(PYTHON) -m localkube images)
	$(PYTHON) examples/demo.py $(DEMO_ARGS)
