# Every target sets up what it needs by itself: git, Python 3.11+ and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
REAL_AGENTS := $(VENV)/.real-agents

# Every step of a run is flushed to disk, and tests make thousands of runs: in memory, where there is room, that
# is free. What has to be tested on a real disk mounts one of its own.
ROOM := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')
PYTEST := $(if $(ROOM),PYTEST_DEBUG_TEMPROOT=$(ROOM) )$(BIN)/python -m pytest

.PHONY: setup demo test test-crash bench lint clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $(STAMP)

# The programs of real agents, some 600 MB: only the tests want them, and do without where they cannot be had.
# goose, which stands for the agents behind ACP, comes from npm; where there is none, npm comes from PyPI.
GOOSE := @aaif/goose-acp@1.50.0
$(REAL_AGENTS): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --group real-agents 2>/dev/null \
		|| echo "claude and codex cannot be installed here: the tests that drive them will be skipped"
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --group npm 2>/dev/null; \
	PATH="$$PATH:$(CURDIR)/$(BIN)" npm install --silent --no-audit --no-fund --prefix $(VENV)/lib/goose $(GOOSE) >/dev/null 2>&1 \
		|| echo "goose cannot be installed here: the tests that drive it will be skipped"
	touch $(REAL_AGENTS)

demo: $(STAMP)
	$(BIN)/holdfast demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests wait a good deal, for agents that hang and locks that stay: three of them keep two cores busy.
AT_ONCE := -n 3 --dist worksteal

test: lint $(REAL_AGENTS)
	$(PYTEST) $(AT_ONCE) -m "not crash"

test-crash: $(STAMP)
	$(PYTEST) $(AT_ONCE) --timeout 3600 -m crash

bench: $(STAMP)
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
