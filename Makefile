# `make demo` and `make test` are all a newcomer needs: each sets up .venv from the locked versions first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest
ROOT   := $(if $(filter 0,$(shell id -u)),,sudo -n)

.PHONY: help setup demo test suite test-browser check format bench mutate soak docs clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ecm needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true  # what pip does on one core; templates that are no Python fail
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

setup: $(READY)  ## the virtual environment with the locked versions

demo: $(READY)  ## declare, derive, train, certify and report on embedded data, in minutes on a CPU
	$(BIN)/ecm demo

test: $(READY)  ## lint, types and the whole test suite, side by side
	@$(MAKE) --no-print-directory -j 2 suite check

suite: $(READY)  # the tests alone
	ECM_CACHE=$$(mktemp -d) OMP_NUM_THREADS=1 $(PYTEST) -n 2 --dist worksteal

test-browser: $(READY)  ## the pages in a real browser, which is installed first (`make test` skips them without one)
	@{ command -v chromium && command -v chromedriver; } >/dev/null || \
		{ $(ROOT) apt-get update -qq && $(ROOT) apt-get install -y -qq --no-install-recommends chromium chromium-driver; } || \
		{ echo "Cannot install the browser from here. On Debian, as root: apt-get install chromium chromium-driver"; exit 1; }
	ECM_CACHE=$$(mktemp -d) OMP_NUM_THREADS=1 $(PYTEST) tests/browser

check: $(READY)  ## ruff (lint and format) and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## measure and rewrite docs/benchmarks.md; about 12 minutes, leave the machine alone (ONLY=noise: one part)
	$(BIN)/python -m benchmarks $(ONLY)

mutate: $(READY)  ## plant small faults in the soundness-critical modules, list those that no test sees; goes on where it stopped
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.mutate $(MUTATE)

soak: $(READY)  ## tamper, kill, fill disks, share a cache (a minute; more with SOAK="--documents 10000 --folders 1000 --kills 50 --minutes 10")
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.soak $(SOAK)

docs: $(READY)  ## the documentation site, in site/; warnings are errors
	$(BIN)/python -m docs.programs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:  ## remove everything that make made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis site
