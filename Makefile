# Every target installs what it needs into .venv first. An install that failed or was interrupted
# leaves no stamp, so running the same command again repairs it.

PYTHON ?= python3
VENV ?= .venv
SEER = $(VENV)/bin/seer-env
STAMP = $(VENV)/.installed
DEV_STAMP = $(VENV)/.installed-dev
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
CHECK_PYTHON = import sys; v = sys.version_info; (3, 10) <= v < (3, 14) or sys.exit("Python 3.10 to 3.13 is \
needed, and $(PYTHON) is %d.%d: name another with PYTHON=/path/to/python3.12" % v[:2])

.DELETE_ON_ERROR:
.PHONY: help install dev demo test test-ray test-compat test-wheel lint docs format stress bench clean

help:
	@echo "make demo    fly 400 aircraft for 300 steps and draw demo.png"
	@echo "make test    the test suite"
	@echo "make test-ray   the tests of workers as Ray actors (about two minutes)"
	@echo "make test-compat   every consumer's tests, each in a fresh environment (CONSUMER=torchrl: one)"
	@echo "make test-wheel   build sdist and wheel, and test the wheel in a fresh environment elsewhere"
	@echo "make lint    ruff and mypy"
	@echo "make docs    API pages from the docstrings, in build/docs; fails on a broken reference"
	@echo "make format  rewrite the sources in the project's format"
	@echo "make stress  long random runs (about ten minutes)"
	@echo "make bench   every experiment, quickly, and a page of the results"
	@echo "make clean   remove .venv and what tools left behind"
	@echo "Another Python than python3: make demo PYTHON=/path/to/python3.12"

# --clear unless the last install succeeded: what an interrupted pip left behind cannot be trusted.
$(STAMP): pyproject.toml
	@$(PYTHON) -c '$(CHECK_PYTHON)'
	@test -e $@ || { echo "creating $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@rm -f $@ $(DEV_STAMP)
	@echo "installing seer_env into $(VENV): a minute or two the first time"
	@$(PIP) 'pip>=21.3'
	@$(PIP) -e .
	@touch $@

$(DEV_STAMP): $(STAMP)
	@rm -f $(STAMP)
	@echo "installing the development tools"
	@$(PIP) -e '.[dev]'
	@touch $(STAMP) $@

install: $(STAMP)

dev: $(DEV_STAMP)

demo: $(STAMP)
	$(SEER) run aircraft_v0 --agents 400 --steps 300 --policy mvp --picture demo.png --picture-step 60

test: $(DEV_STAMP)
	$(VENV)/bin/python -m pytest

test-ray: $(DEV_STAMP)
	@$(PIP) -e '.[ray]'
	$(VENV)/bin/python -m pytest -m ray

# Far from the checkout: a copy of the tests but those in tests/checkout, which read the repository's files.
test-wheel:
	@$(PYTHON) -c '$(CHECK_PYTHON)'
	rm -rf dist
	set -e; away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; \
	$(PYTHON) -m venv "$$away/venv"; pip="$$away/venv/bin/python -m pip install --quiet --disable-pip-version-check"; \
	$$pip build; "$$away/venv/bin/python" -m build --outdir dist .; \
	$$pip "$$(echo dist/*.whl)[dev]"; \
	cp -R pyproject.toml tests "$$away"; rm -rf "$$away/tests/checkout"; \
	cd "$$away"; venv/bin/python -m pytest $(PYTEST)

# Environments of its own, and none of .venv: see tests/compat/consumers.py
test-compat:
	@$(PYTHON) -c '$(CHECK_PYTHON)'
	$(PYTHON) tests/compat/consumers.py $(CONSUMER)

lint: $(DEV_STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: $(DEV_STAMP)
	$(VENV)/bin/python docs/api_pages.py build/docs

format: $(DEV_STAMP)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

stress: $(DEV_STAMP)
	$(VENV)/bin/python -m pytest -m stress

bench: $(STAMP)
	$(SEER) bench all --quick

clean:
	rm -rf $(VENV) .venvs-compat .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
