# Every verb of the project. `make` alone lists them.
# PYTHON chooses the interpreter for the environment (3.11 or newer): make test PYTHON=python3.13
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
SIZE ?= 10000
ROUNDS ?= 3
ONLY ?=
SOAK ?= 50
KILLS ?= 300
PORT ?= 8787
RUN ?=

.DEFAULT_GOAL := help
.PHONY: help run story demo-agent test quick check format bench soak conformance conformance-serve screenshots docs new wheel clean

help:  ## list the verbs
	@echo "Ferrule: the tools of AI agents, checked like code and called under rules. Start with 'make run'."
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)$$/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-25s %s\n", $$1, $$2 }'

run: $(VENV)/.ready  ## a governed call from start to end, then the demo bookshop served with its console on port 8787 (PORT=…)
	@$(BIN)/python scripts/demo.py

story: $(VENV)/.ready  ## the same, without serving
	@$(BIN)/python scripts/demo.py --no-serve

demo-agent: $(VENV)/.ready  ## agents at work in the demo that 'make run' serves, without a model (ARGS="--rate 3", --minutes 5, --once)
	@$(BIN)/python scripts/demo_agent.py $(ARGS)

test: $(VENV)/.ready-test  ## run every test (WORKERS=2)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --hypothesis-seed=0 $(ARGS)

quick: $(VENV)/.ready-test  ## the tests that need no browser, compiler, service or kill, in under three minutes (tests/conftest.py lists the others)
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal --hypothesis-seed=0 --quick $(ARGS)

check: $(VENV)/.ready-test  ## format, lint, types, import layers, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy src tests bench scripts
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_docs.py --check

format: $(VENV)/.ready-test  ## rewrite the sources in the project's format and mend what lint can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.ready bench/peers/.venv/.ready  ## compare with others (ONLY=check, call, together, transports, serve, console, convert or stubs; SIZE=1000 for a quick look)
	@$(BIN)/python -m compileall -q src/ferrule
	$(BIN)/python -m bench.run --size $(SIZE) --rounds $(ROUNDS) $(if $(ONLY),--only $(ONLY)) $(ARGS)

soak: $(VENV)/.ready-test  ## the randomised tests over and over (SOAK=50 seeds), long stories, hundreds of kills (KILLS=300), ten minutes of serving
	@for seed in $$(seq 1 $(SOAK)); do echo "round $$seed of $(SOAK)"; \
	  $(BIN)/pytest -q -n $(WORKERS) -m hypothesis --hypothesis-seed=$$seed $(ARGS) || exit 1; done
	FERRULE_SOAK=$(KILLS) $(BIN)/pytest -q -n $(WORKERS) tests/journeys tests/faults tests/ledger/stores/sqlite/store/test_faults.py $(ARGS)
	FERRULE_SOAK=$(KILLS) $(BIN)/pytest -q tests/servers/soak tests/servers/test_fuzz.py tests/servers/test_rough_clients.py $(ARGS)
	FERRULE_EXAMPLES=200 $(BIN)/pytest -q -n $(WORKERS) tests/servers/api/test_schemathesis.py $(ARGS)

conformance: $(VENV)/.ready  ## MCP's official conformance suite against our server, with the totals (RUN=2026-07-28 for one revision)
	@$(BIN)/python scripts/conformance.py $(foreach run,$(RUN),--only $(run))

conformance-serve: $(VENV)/.ready  ## only the server that the suite is run against (PORT=8787)
	@exec $(BIN)/python scripts/conformance.py --serve --port $(PORT)

screenshots: $(VENV)/.ready-test  ## photograph every page of the console of the demo, light, dark and narrow: docs/images and artifacts/
	@$(BIN)/python scripts/screenshots.py $(ARGS)

docs: $(VENV)/.ready  ## write docs/reference from the sources
	$(BIN)/python scripts/generate_docs.py

new: $(VENV)/.ready  ## write the skeleton of a new part: make new KIND=rule NAME=undescribed-parameter STANDARD=aml CODE=AML-35
	$(BIN)/python scripts/new_part.py --kind "$(KIND)" --name "$(NAME)" $(if $(STANDARD),--standard "$(STANDARD)") $(if $(CODE),--code "$(CODE)")

wheel: $(VENV)/.ready-test  ## build the wheel into dist/
	rm -rf dist && $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove everything that was set up or generated here
	rm -rf .venv .venv-* bench/peers/.venv bench/work dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache demo/.ferrule demo/ferrule.pub

# Set-up. Each stamp is remade only when what it depends on changed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Ferrule needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml src/ferrule/__init__.py | $(BIN)/python
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[cedar,mcp,watch]'
	@$(BIN)/python -m compileall -q src/ferrule  # start-up without it is slow where bytecode may not be written
	@touch $@

$(VENV)/.ready-test: pyproject.toml scripts/groups.py $(VENV)/.ready
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[all]' $$($(BIN)/python scripts/groups.py test check)
	@touch $@

bench/peers/.venv/.ready: bench/peers.txt
	$(PYTHON) -m venv bench/peers/.venv
	bench/peers/.venv/bin/python -m pip install -qq --disable-pip-version-check --requirement bench/peers.txt
	@touch $@
