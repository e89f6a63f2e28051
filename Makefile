# Muniment: every target sets itself up; all that is needed is Python >= 3.11 and make.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
LISTEN ?= 127.0.0.1:7463
DATA_DIR ?= data
PROD_DIR ?= data/prod-local

# The first interpreter on the path that is new enough; override with PYTHON=/path/to/python.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: help setup demo serve serve-prod-local test lint type proto proto-check bench bench-locomo bench-scale faults constraints

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## install everything into .venv (does nothing when nothing changed)
	@echo "ready: $(VENV)"

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Muniment needs Python 3.11 or newer: install it, or name it with PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { echo "'$(PYTHON) -m venv' failed: on Debian and Ubuntu install the package python3-venv" >&2; exit 1; }
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,embed,otel,postgres]'
	@touch $@

demo: $(STAMP) ## play a recorded conversation through the gateway (CONVERSATION=file.jsonl plays yours)
	@$(BIN)/python -m gateway.demo $(if $(CONVERSATION),"$(CONVERSATION)")

serve: $(STAMP) ## run the gateway (LISTEN=127.0.0.1:7463 DATA_DIR=data)
	@exec $(BIN)/muniment serve --listen $(LISTEN) --data-dir $(DATA_DIR)

serve-prod-local: $(STAMP) ## production on one machine: Postgres, Valkey and two gateways (PROD_DIR=data/prod-local, ports 7463 and 7464)
	@exec $(BIN)/python -m scripts.serve_prod_local --data-dir "$(PROD_DIR)" $(ARGS)

test: $(STAMP) ## run the whole test suite (WORKERS=2, ARGS for pytest)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

lint: $(STAMP) ## ruff and the import directions
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

type: $(STAMP) ## mypy, strict
	@$(BIN)/mypy

proto: $(STAMP) ## generate the stubs beside the .proto files
	@$(BIN)/python -m scripts.protos generate

proto-check: $(STAMP) ## stubs equal the .proto files, and buf's lint
	@$(BIN)/python -m scripts.protos check

bench: $(STAMP) ## latency and throughput against an echo of the same size, to benchmarks/out/latency.json
	@$(BIN)/python -m benchmarks.latency $(ARGS)

bench-locomo: $(STAMP) ## retrieval on LoCoMo (DATA=folder that holds it), to benchmarks/out/locomo.json
	@$(BIN)/python -m benchmarks.locomo $(if $(DATA),"$(DATA)") $(ARGS)

bench-scale: $(STAMP) ## 10,000 users and a million excerpts in Postgres, two gateways, to benchmarks/out/scale.json
	@$(BIN)/python -m benchmarks.scale $(ARGS)

faults: $(STAMP) ## faults of Redis and Postgres under traffic, to benchmarks/out/faults.json (ARGS=--quick for a look)
	@$(BIN)/python -m benchmarks.faults $(ARGS)

constraints: ## resolve constraints.txt anew (needs uv)
	@sh scripts/constraints.sh
