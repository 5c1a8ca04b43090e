# Every recipe says in one line what it does; `make` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
# What reads and writes tables, counts classes, encodes, hashes and answers: where versions show.
LOWEST_TESTS := $(addprefix tests/,data guarantees masks verifier vault book anonymize/test_anonymizer.py \
  microdata/test_protect.py encode/test_codec.py hashing/test_hasher.py training/test_estimator.py \
  cli/test_protect.py cli/test_describe.py cli/test_query.py events/test_running.py \
  $(addprefix dp/,accounting ledger noise queries safepub synthesis) \
  $(patsubst %,geo/test_%.py,areas cells hexagons maps points quadtree zip3))
BIN := $(VENV)/bin
# The same order and the same random numbers in each run: `make fuzz` is for new ones.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal --randomly-seed=20261125 $(PYTEST_FLAGS)
# Tests start many processes: without bytecode on disk each compiles all of our modules.
unexport PYTHONDONTWRITEBYTECODE
MINUTES ?= 60
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-lowest lint types contracts unit slow fuzz format bench bench-quick docs notebooks sizes schema lock clean

help: ## List what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

demo: $(VENV)/.runtime ## Protect Adult and say where the release and its report lie
	@mkdir -p out
	$(BIN)/halfmask protect examples/adult/adult.csv examples/adult/policy.toml out/adult --overwrite
	@echo "The same in a browser: $(BIN)/halfmask workbench examples/adult/adult.csv --folder out"

test: $(VENV)/.development lint types contracts unit ## Install what tests need, then lint, types, contracts, tests: 5 minutes

test-all: $(VENV)/.development lint types contracts ## The same with all tests, each once, as CI runs it: 20 minutes
	$(PYTEST) --hypothesis-profile=thorough

test-lowest: $(LOWEST)/.installed ## Run a core of the quick tests with the lowest version of each dependency
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/pytest -n 2 --dist worksteal \
	  -W "ignore:Support for the dataframe interchange protocol:DeprecationWarning" \
	  --randomly-seed=20261125 -m "not slow" $(LOWEST_TESTS)

lint: $(VENV)/.development ## Check style and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.development ## Check types, strictly
	$(BIN)/mypy

contracts: $(VENV)/.development sizes ## Check that imports only point upwards in the house, and its budget
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.development ## Run the quick tests and the examples in the docstrings
	$(PYTEST) -m "not slow"

slow: $(VENV)/.development ## Run the slow tests: real data, crashes, whole examples, more random inputs
	$(PYTEST) -m "slow or thorough" --hypothesis-profile=thorough

fuzz: $(VENV)/.development ## Run the property tests with new random inputs for MINUTES=60, until one fails
	@end=$$(( $$(date +%s) + 60 * $(MINUTES) )); while [ $$(date +%s) -lt $$end ]; do \
	  $(BIN)/pytest -q -n 2 --dist worksteal -m hypothesis --hypothesis-profile=fuzz || exit 1; \
	done

format: $(VENV)/.development ## Mend what can be mended of style and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.runtime ## Measure every bar against the peers, side by side: about half an hour
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/speed/anonymize.py

bench-quick: $(VENV)/.runtime ## Measure what needs no peers, in under a minute
	$(BIN)/python benchmarks/speed/anonymize.py --quick

docs: $(VENV)/.development ## Build the documentation into site/; a warning is an error
	$(BIN)/python tools/build_docs.py

notebooks: $(VENV)/.development ## Run examples/notebooks/ and store what they show
	$(BIN)/python tools/run_notebooks.py

sizes: $(VENV)/.development ## Print the size of each room, and fail where one is over its budget
	$(BIN)/python tools/sizes.py

schema: $(VENV)/.runtime ## Write the policy's JSON schema, which editors read
	$(BIN)/halfmask schema > docs/policy.schema.json

lock: ## Pin every dependency by hash (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --group pyproject.toml:build --extra protect --extra workbench pyproject.toml -o requirements/runtime.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --group pyproject.toml:build --group pyproject.toml:test --group pyproject.toml:lint \
	  --group pyproject.toml:docs --extra serve --extra client --extra dp --extra dask --extra spark --extra pii --extra excel --extra statfiles --extra duckdb --extra postgres --extra tables --extra geo-files --extra workbench -c requirements/runtime.txt pyproject.toml -o requirements/development.txt
	uv pip compile --quiet --upgrade --resolution lowest-direct --python-version 3.11 --generate-hashes --no-header \
	  --group pyproject.toml:build --group pyproject.toml:test \
	  --extra serve --extra client --extra dp --extra dask --extra pii --extra excel --extra statfiles --extra duckdb --extra postgres --extra tables --extra geo-files --extra workbench pyproject.toml -o requirements/lowest.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --group pyproject.toml:cloud -c requirements/runtime.txt -o examples/rented_cloud/requirements.txt

clean: ## Remove what was built, installed and cached
	rm -rf $(VENV) $(LOWEST) build dist site out .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "halfmask needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(BIN)/python
	@echo "installing what halfmask needs, by hash ..."
	$(INSTALL) --require-hashes -r requirements/runtime.txt
	$(INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.development: requirements/development.txt $(VENV)/.runtime
	@echo "installing what its tests need, by hash ..."
	$(INSTALL) --require-hashes -r requirements/development.txt
	@touch $@

$(LOWEST)/.installed: requirements/lowest.txt pyproject.toml
	@echo "installing the lowest versions that halfmask takes, by hash ..."
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@
