# Every target sets up what it needs in .venv. Nothing else on the machine changes, except for Debian packages installed as root.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
# Each of the three can be narrowed: make test TESTS=tests/disk
TESTS ?= tests
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests and benchmarks start hundreds of processes: compile once, as an installed package is.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-proofs test-all mutants test-pythons check format docs site bench prices bills registry models record drift clean
.DEFAULT_GOAL := help

help:                ## show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: .venv/.core     ## open the viewer on your own sessions, or on the demo if there are none
	@$(BIN)/python scripts/run_viewer.py

test: .venv/.dev     ## run the tests on a sample of sessions and real clients; takes minutes
	@scripts/provide npm tmux rg=ripgrep chromium bwrap=bubblewrap
	$(BIN)/python -m pytest -n 3 --dist worksteal $(TESTS)

test-proofs: .venv/.dev ## run the tests on every session and every real client, as CI does
	@scripts/provide npm tmux rg=ripgrep chromium bwrap=bubblewrap
	$(BIN)/python -m pytest -n 2 --dist worksteal --proofs $(TESTS)

test-all: .venv/.dev .venv/.mutants ## also run the full matrices and the sample of mutants; takes hours
	@scripts/provide npm tmux rg=ripgrep chromium bwrap=bubblewrap
	$(BIN)/python -m pytest -n 2 --dist worksteal --full $(TESTS)
	$(BIN)/python scripts/mutants.py

mutants: .venv/.mutants ## check that the core tests notice small faults, with a sample of 200
	$(BIN)/python scripts/mutants.py

test-pythons: .venv/.dev ## run the core tests against the wheel, on every supported Python
	$(BIN)/python scripts/test_pythons.py $(REQUIRE)

check: .venv/.dev    ## check format, lint, types, imports and generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_docs.py --check

format: .venv/.dev   ## format the code and fix lint errors
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/.dev     ## regenerate the generated pages
	$(BIN)/python scripts/generate_docs.py

site: .venv/.dev     ## build the documentation site in build/site; fails on a broken link
	@$(BIN)/python -m pip install -q -c constraints.txt --group site
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "build/site/index.html"

bench: .venv/.dev    ## compare speed and memory with similar tools, as ratios
	$(BIN)/python -m bench

prices: .venv/.dev   ## compare the price table with LiteLLM's and with the real client
	@scripts/provide npm
	$(BIN)/python scripts/compare_prices.py --client

bills: .venv/.dev    ## record what the newest client charges for every model and kind of session, for the tests
	@scripts/provide npm
	$(BIN)/python scripts/record_bills.py

registry: .venv/.dev ## rebuild the registry of what releases write from the recordings
	$(BIN)/python scripts/make_registry.py
	$(BIN)/python scripts/generate_docs.py

models: .venv/.dev   ## ask the newest client what it knows about every model: window, output, thinking
	@scripts/provide npm
	$(BIN)/python scripts/measure_models.py

record: .venv/.dev   ## record releases and rebuild the registry: make record RELEASES="2.1.324 2.1.325"
	@scripts/provide npm tmux rg=ripgrep
	$(BIN)/python scripts/record.py -j 2 $(RELEASES)
	@$(MAKE) --no-print-directory registry

drift: .venv/.dev    ## record the newest release and report what is new in it
	@scripts/provide npm tmux rg=ripgrep
	@$(BIN)/python scripts/report_drift.py

clean:               ## delete everything that was built or installed here
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/.core: pyproject.toml constraints.txt scripts/make_venv
	@echo 'Installing into .venv: once, about a minute.'
	@scripts/make_venv $(PYTHON)
	@$(BIN)/python -m pip install -q -c constraints.txt pip
	@$(BIN)/python -m pip install -q -c constraints.txt -e '.[agent,mcp,web]'
	@touch $@

.venv/.dev: .venv/.core
	@$(BIN)/python -m pip install -q -c constraints.txt --group check --group test --group bench
	@touch $@

.venv/.mutants: .venv/.dev
	@$(BIN)/python -m pip install -q -c constraints.txt --group mutants
	@touch $@
