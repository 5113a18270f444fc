# `make run` and `make test` do all their set-up themselves; `make` lists the rest.

PYTHON ?= python3
VENV   ?= .venv
OUT    ?= results
ARGS   ?=
BENCHMARKS ?= $(wildcard benchmarks/[!_]*.py)

BIN   := $(VENV)/bin
PEERS := $(VENV)-peers
RIVALS := $(VENV)-rivals
FUZZ := $(VENV)-fuzz
LOWEST := $(VENV)-lowest
AUDIT := $(VENV)-audit

# Small matrices: one BLAS thread is the fastest.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

.PHONY: help run test slow fuzz lint format types docs peers lowest audit bench rivals mutants tables dry pictures clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */  make \1\t/' | expand -t 16
	@echo "Variables: PYTHON=$(PYTHON) VENV=$(VENV) OUT=$(OUT) ARGS=$(ARGS)"

run: $(VENV)/.has-plot  ## reproduce the Rayleigh and Karcher experiments: a table and a report in OUT
	$(BIN)/geoduel reproduce rayleigh karcher --out $(OUT) $(ARGS)

test: $(VENV)/.has-test  ## run the tests, doctests and examples of the docs
	$(BIN)/python -m pytest $(ARGS)

slow: $(VENV)/.has-test  ## run the full-size tests
	$(BIN)/python -m pytest -m slow $(ARGS)

fuzz: $(VENV)/.has-test $(FUZZ)/.has-fuzz  ## send the page's HTTP interface generated requests
	SCHEMATHESIS=$(FUZZ)/bin/schemathesis $(BIN)/python -m pytest -m slow tests/web/test_fuzz.py $(ARGS)

lint: $(VENV)/.has-lint  ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.has-lint  ## mend style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.has-lint $(VENV)/.has-test  ## check types
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/.has-docs  ## build the documentation in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

peers: $(PEERS)/.has-test,bench,bridges  ## test what works with other packages: manifolds, arrays, pools, Optuna
	$(PEERS)/bin/python -m pytest tests/manifolds/adapters $(ARGS)
	$(PEERS)/bin/python -m pytest -m "slow or not slow" -k "dask or loky" tests/_support/test_pools.py tests/bench/test_command.py $(ARGS)
	$(PEERS)/bin/python -m pytest tests/bridges src/geoduel/bridges $(ARGS)
	$(PEERS)/bin/python -m pytest tests/test_package.py -k "examples_run and how-to" $(ARGS)
	$(PEERS)/bin/python -m pytest tests/manifolds/test_properties.py -k jax $(ARGS)

# Old versions of others use what newer ones deprecate. Without ARGS, what depends on other packages.
lowest: ARGS := $(or $(ARGS),tests/_numerics tests/pictures tests/study/storage tests/study/test_command.py tests/study/test_replay.py tests/test_cli.py tests/web/test_app.py tests/web/test_panes.py)
lowest: $(LOWEST)/.has-lowest  ## run tests with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -W ignore::DeprecationWarning $(ARGS)

# The tools that fill an environment come with Python, and are no dependencies.
audit: $(VENV)/.has-test $(LOWEST)/.has-lowest $(AUDIT)/.has-audit  ## look for published weaknesses in the newest and the lowest dependencies
	for venv in $(VENV) $(LOWEST); do echo "== $$venv"; \
	    $$venv/bin/python -m pip list --format freeze --exclude-editable --exclude pip --exclude setuptools --exclude uv >$(AUDIT)/found.txt && \
	    $(AUDIT)/bin/pip-audit --requirement $(AUDIT)/found.txt --no-deps --disable-pip $(ARGS) || exit 1; done

bench: $(PEERS)/.has-test,bench,bridges  ## run every benchmark once, at reduced size
	for script in $(BENCHMARKS); do echo "== $$script"; $(PEERS)/bin/python $$script $(ARGS) || exit 1; done

rivals: $(RIVALS)/.has-rivals  ## ask simulated people with other packages
	$(RIVALS)/bin/python benchmarks/people_rivals.py $(ARGS)

mutants: $(VENV)/.has-test,mutation  ## see which faults in the code no test finds
	$(BIN)/python benchmarks/mutants.py $(ARGS)

tables: $(VENV)/.has-test  ## write the tables of the docs from the results that benchmarks saved
	$(BIN)/python benchmarks/_tables.py

dry: $(VENV)/.has-test  ## follow three tutorials word for word, each in a fresh environment, and time that
	$(BIN)/python benchmarks/_dry_runs.py $(ARGS)

pictures: $(VENV)/.has-test  ## draw the docs' pictures of the page, in Chromium
	$(BIN)/python benchmarks/_pictures.py

clean:  ## remove environments, caches and site/, but no results
	rm -rf $(VENV) $(PEERS) $(RIVALS) $(FUZZ) $(LOWEST) $(AUDIT) build dist site .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# A stamp for each set of extras: nothing is installed twice until the requirements change.
$(VENV)/.has-%: pyproject.toml constraints.txt | $(VENV)/.made
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[$*]'
	@touch $@

$(PEERS)/.has-%: pyproject.toml constraints.txt constraints-peers.txt | $(PEERS)/.made
	$(PEERS)/bin/python -m pip install --quiet -c constraints-peers.txt -e '.[$*]'
	@touch $@

# pip cannot choose the lowest versions, uv can.
$(LOWEST)/.has-%: pyproject.toml | $(LOWEST)/.made
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/python -m uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[$*]'
	@touch $@

# It asks for newer packages than the tests do.
$(FUZZ)/.has-fuzz: | $(FUZZ)/.made
	$(FUZZ)/bin/python -m pip install --quiet 'schemathesis>=4.1'
	@touch $@

$(AUDIT)/.has-audit: | $(AUDIT)/.made
	$(AUDIT)/bin/python -m pip install --quiet 'pip-audit>=2.7'
	@touch $@

# AEPsych asks for NumPy 1 but runs on 2, which geoduel needs: pip says so and goes on.
$(RIVALS)/.has-rivals: pyproject.toml constraints.txt | $(RIVALS)/.made
	$(RIVALS)/bin/python -m pip install --quiet -c constraints.txt torch aepsych
	$(RIVALS)/bin/python -m pip install --quiet -c constraints.txt -e '.[rivals]'
	@touch $@

%/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "geoduel needs Python 3.11 or newer, found " + sys.version.split()[0] + "; name one with PYTHON=...")'
	@echo "Setting up $* (the first time only)"
	@$(PYTHON) -m venv $*
	@touch $@

.PRECIOUS: %/.made $(VENV)/.has-% $(PEERS)/.has-% $(LOWEST)/.has-% $(RIVALS)/.has-rivals $(FUZZ)/.has-fuzz $(AUDIT)/.has-audit
