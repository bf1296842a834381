# HAI: set-up, tests and the platform on this machine. `make help` lists the targets.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# Other people's frameworks, which nothing of HAI imports, in an environment of their own; it is kept as long as its locks are.
FRAMEWORKS := .venv-frameworks
# What builds the site of docs/, in an environment of its own for the same reason.
SITE := .venv-docs
ARGS ?=
# How many tests go on at once, where two cores are not told otherwise: much of their time is waiting. Each worker has ports, folders,
# platforms and namespaces of its own.
AT_ONCE ?=
# Thousands of processes import the same files: they keep what they have compiled, whatever this machine says otherwise.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -q
SLOWEST := --durations=20 --durations-min=1
# What `make test` proves: most of the code, and that a platform starts, runs a task, interrupts and resumes it, and shows it in JupyterLab.
FIRST := tests/unit tests/contract tests/integration/api tests/docs
FIRST_WAYS := tests/e2e/test_up.py tests/e2e/test_interruption.py tests/e2e/test_failures.py tests/e2e/test_terminal.py \
  tests/e2e/test_browser.py::test_submit_a_file_watch_its_log_and_stop_it
LAB_SOURCES := $(shell find lab_extension/src lab_extension/style lab_extension/schema lab_extension/hai_lab -type f -not -path '*/labextension/*' -not -path '*/hai_lab/page/*' -not -name '*.pyc' 2>/dev/null) \
  $(wildcard examples/* lab_extension/package*.json lab_extension/tsconfig.json lab_extension/pyproject.toml lab_extension/*.py lab_extension/*.mjs lab_extension/*.cjs)
# From elsewhere comes only what a lock names, with the very bytes that it names; what is ours is built by what was locked.
INSTALL_LOCKED := $(BIN)/python tools/install.py
PIP_OURS := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation
UV_LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-annotate --no-emit-index-url --no-header --no-emit-package hai-client --no-emit-package hai-env --no-emit-package hai-slurm pyproject.toml requirements.in
RUNTIME_EXTRAS := cluster env examples hub kubernetes kubespawner notebook notify postgres redis scheduler sim stacks

.DEFAULT_GOAL := help
.PHONY: help up install check check-types check-python check-lab test test-parts test-fast test-frameworks test-kubernetes test-upgrade gpu e2e chaos bench docs pictures reference monitoring helm images number release lock lock-frameworks frameworks-table mutants proportion clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-16s %s\n' "$$name" "$$text"; done

up: $(VENV)/.up  ## install what is missing and start the whole platform; ARGS="--port 8123" hands options on
	@exec $(BIN)/hai up $(ARGS)

install: $(VENV)/.up $(VENV)/.dev  ## only set up .venv, with everything for development

check: $(VENV)/.up $(VENV)/.dev $(VENV)/.node  ## linters, type checks and the architecture's contracts
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-types check-python check-lab

check-types:
	$(BIN)/mypy

check-python:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m hai_scheduler.api.bindings --check
	PYTHONPATH=tools $(BIN)/python -m changelog check
	PYTHONPATH=tools $(BIN)/python -m release number --check

check-lab:
	cd lab_extension && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent lint

test: $(VENV)/.up $(VENV)/.dev $(VENV)/.node  ## install and pass what a change should pass first: units, contracts, the API, the docs, the panel, and the first ways of a user
	@# Side by side: the tests of the whole platform mostly wait. What runs beside is shown at the end. `make test-parts e2e` is all.
	@mkdir -p test-results
	@$(PYTEST) $(SLOWEST) $(FIRST_WAYS) >test-results/first-ways.log 2>&1 & ways=$$!; \
	(cd lab_extension && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent test) >test-results/panel.log 2>&1 & panel=$$!; \
	$(PYTEST) -n $(or $(AT_ONCE),2) --dist loadfile --no-loadscope-reorder $(SLOWEST) $(FIRST); first=$$?; \
	wait $$panel; panel=$$?; cat test-results/panel.log; wait $$ways; ways=$$?; cat test-results/first-ways.log; \
	[ $$first = 0 ] && [ $$panel = 0 ] && [ $$ways = 0 ]

test-parts: $(VENV)/.up $(VENV)/.dev $(VENV)/.node $(VENV)/.helm  ## every test but those of the whole platform
	@# Side by side. What the panel's tests say is shown at the end.
	@mkdir -p test-results
	@(cd lab_extension && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent test) >test-results/panel.log 2>&1 & panel=$$!; \
	$(PYTEST) -n $(or $(AT_ONCE),4) --dist loadfile --no-loadscope-reorder $(SLOWEST) -m "not e2e and not browser and not frameworks and not upgrade"; parts=$$?; \
	wait $$panel; panel=$$?; cat test-results/panel.log; [ $$parts = 0 ] && [ $$panel = 0 ]

test-fast: $(VENV)/.dev  ## unit and contract tests: no platform is started
	$(PYTEST) -n 2 tests/unit tests/contract

e2e: $(VENV)/.up $(VENV)/.dev  ## the whole platform as real processes
	$(PYTEST) -n $(or $(AT_ONCE),2) --dist loadfile --no-loadscope-reorder $(SLOWEST) -m "e2e or browser" tests/e2e

chaos: $(VENV)/.up $(VENV)/.dev  ## kill everything at random while tasks run, and judge what their ranks wrote down; ARGS="--minutes 60 --on postgres --seed 42"
	PYTHONPATH=tests $(BIN)/python -m chaos $(ARGS)

bench: $(VENV)/.up $(VENV)/.dev  ## measure what ARGS names (ARGS=--help lists it); figures go to the screen and to bench-results/
	PYTHONPATH=tools:tests:client/hfai $(BIN)/python -m bench $(ARGS)

proportion: $(VENV)/.up $(VENV)/.dev  ## how much code the product takes: lines by folder, long functions, what a request passes; ARGS="--depth 2"
	@PYTHONPATH=tools $(BIN)/python -m proportion $(ARGS)

test-frameworks: $(VENV)/.up $(VENV)/.dev $(FRAMEWORKS)/.installed  ## other people's training code on the whole platform, interrupted and resumed; installs it into .venv-frameworks
	@# Side by side: on the platform much of the time is waiting. What needs none is shown at the end.
	@mkdir -p test-results
	@PYTHONPATH=client $(FRAMEWORKS)/bin/python -m pytest -q -m "not frameworks" tests/frameworks $(ARGS) >test-results/frameworks-alone.log 2>&1 & alone=$$!; \
	HAI_TEST_FRAMEWORKS=$(abspath $(FRAMEWORKS)) $(PYTEST) -n $(or $(AT_ONCE),2) --dist loadscope --no-loadscope-reorder $(SLOWEST) -m frameworks tests/frameworks $(ARGS); platform=$$?; \
	wait $$alone; alone=$$?; cat test-results/frameworks-alone.log; [ $$platform = 0 ] && [ $$alone = 0 ]

test-kubernetes: $(VENV)/.up $(VENV)/.dev  ## the tests on a real Kubernetes: the cluster that KUBECONFIG names
	@# Those that kill nodes and the API server come last, when no other test runs.
	@$(PYTEST) -n $(or $(AT_ONCE),3) --dist loadscope --no-loadscope-reorder $(SLOWEST) -m "not alone" tests/kubernetes $(ARGS); beside=$$?; \
	$(PYTEST) $(SLOWEST) -m alone tests/kubernetes $(ARGS); alone=$$?; \
	case $$beside/$$alone in 0/0) ;; 0/5 | 5/0) echo "5 says that ARGS has chosen none of them" ;; *) exit 1 ;; esac

gpu:  ## what only a machine with an NVIDIA GPU can show, in eight minutes at most (docs/gpus.md); installs nothing; ARGS="--python PATH" has PyTorch
	@PYTHONPATH="$(CURDIR)/tests:$(CURDIR)/client$${PYTHONPATH:+:$$PYTHONPATH}" $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m gpu $(ARGS)

test-upgrade: $(VENV)/.up $(VENV)/.dev  ## from the last release to this tree with tasks that go on, and back; it is installed from its own locks
	$(PYTEST) -n $(or $(AT_ONCE),2) --dist loadscope --no-loadscope-reorder $(SLOWEST) -m upgrade tests/upgrade

mutants: $(VENV)/.dev  ## change the core on purpose and list the changes that no test notices; ARGS="capacity planning/placer --sample 50" (docs/mutants.md)
	PYTHONPATH=tests nice -n 19 $(BIN)/python -m mutants $(ARGS)

docs: $(SITE)/.installed  ## build docs/ into a site with search, in build/docs; a link that leads nowhere fails
	$(SITE)/bin/python tests/docs/build_site.py

pictures: $(VENV)/.up $(VENV)/.dev  ## draw the pictures of docs/scheduling.md again, and take those of the tours of a platform of its own; ARGS names some: charts, studio, studio-nodes
	PYTHONPATH=tools:tests $(BIN)/python -m pictures $(ARGS)

reference: $(VENV)/.dev  ## write docs/reference, the rooms of docs/architecture.md, the client's dataclasses and the panel's types
	$(BIN)/python -m hai_scheduler.api.bindings
	$(BIN)/python -m hai_scheduler.api.reference > docs/reference/rest.md
	$(BIN)/python -m hai_scheduler.app.settings_reference > docs/reference/settings.md
	$(BIN)/python -m hai_client.cli.reference > docs/reference/cli.md
	$(BIN)/python -m hai_hub.cluster.values_reference > docs/reference/values.md
	PYTHONPATH=tests $(BIN)/python -m docs.rooms
	PYTHONPATH=tools $(BIN)/python -m languages
	PYTHONPATH=tools $(BIN)/python -m runbooks
	PYTHONPATH=tools $(BIN)/python -m ci.support
	PYTHONPATH=tools $(BIN)/python -m monitoring >/dev/null

monitoring: $(VENV)/.dev  ## write the chart's dashboards and alerts from the tables in tools/monitoring
	PYTHONPATH=tools $(BIN)/python -m monitoring

frameworks-table: $(VENV)/.dev  ## write the table of docs/frameworks.md from the results of make test-frameworks
	PYTHONPATH=tests $(BIN)/python -m frameworks.table

helm: $(VENV)/.helm  ## put helm and kubectl into .venv/bin, unless they are on PATH; on Debian Prometheus for the tests too

images: $(VENV)/.dev  ## build the images of the chart with buildah or docker (ARGS="hub init --registry R --archive DIR")
	@$(BIN)/python helm/images/build.py $(ARGS)

release: $(VENV)/.up $(VENV)/.dev $(VENV)/.node  ## build the commit twice, compare, sign: build/release/VERSION (ARGS="--key FILE [--without images] [--base hub=IMAGE]")
	@PYTHONPATH=tools $(BIN)/python -m release make $(ARGS)

number: $(VENV)/.venv  ## write the version of pyproject.toml into every other place that says it
	@PYTHONPATH=tools $(BIN)/python -m release number

lock: $(VENV)/.dev  ## write requirements*.lock from the ranges of pyproject.toml and requirements.in (ARGS="--upgrade" for newer versions)
	$(UV_LOCK) $(RUNTIME_EXTRAS:%=--extra %) $(ARGS) -o requirements.lock
	$(UV_LOCK) $(RUNTIME_EXTRAS:%=--extra %) --extra dev -c requirements.lock $(ARGS) -o requirements-dev.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url --no-header $(ARGS) tests/docs/requirements.in -o tests/docs/requirements.lock

lock-frameworks: $(VENV)/.dev  ## write the locks of tests/frameworks from its requirements.in (ARGS="--upgrade" for newer versions)
	$(BIN)/python tests/frameworks/lock.py $(ARGS)

clean:  ## remove .venv and everything that was built
	rm -rf $(VENV) $(FRAMEWORKS) $(SITE) lab_extension/node_modules lab_extension/lib lab_extension/hai_lab/labextension lab_extension/hai_lab/page lab_extension/*.tsbuildinfo build dist

# -- stamps: what is installed already ----------------------------------------------------------------

$(VENV)/.venv:
	@test -n "$(PYTHON)" || { echo "HAI needs Python 3.11 or newer: install it, or name it: make up PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "HAI needs Python 3.11 or newer, $(PYTHON) is older: make up PYTHON=/path/to/python3.11"; exit 2; }
	@echo "[1/3] creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.platform: pyproject.toml client/pyproject.toml client/slurm/pyproject.toml haienv/pyproject.toml requirements.lock tools/install.py $(VENV)/.venv
	@echo "[2/3] installing JupyterHub, JupyterLab and HAI (a minute, the first time)"
	@$(INSTALL_LOCKED) requirements.lock
	@$(PIP_OURS) -e ./client -e ./client/slurm -e ./haienv -e .
	@touch $@

$(VENV)/.up: $(LAB_SOURCES) $(VENV)/.platform
	@echo "[3/3] building the JupyterLab panel (a minute, the first time)"
	@$(PIP_OURS) --force-reinstall ./lab_extension
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.platform
	@echo "[dev] installing the tools for tests and checks"
	@$(INSTALL_LOCKED) requirements-dev.lock
	@touch $@

$(VENV)/.helm: helm/tools/fetch.py helm/tools/fetch_prometheus.py $(VENV)/.venv
	@$(BIN)/python helm/tools/fetch.py $(BIN)
	@# Tests that need it are skipped where it cannot be had.
	@$(BIN)/python helm/tools/fetch_prometheus.py $(BIN) || true
	@touch $@

$(FRAMEWORKS)/.installed: $(wildcard tests/frameworks/*.lock) tests/frameworks/install.py $(VENV)/.venv
	@echo "[frameworks] installing PyTorch and the other frameworks into $(FRAMEWORKS) (two minutes, the first time)"
	@rm -rf $(FRAMEWORKS)
	@$(BIN)/python -m venv $(FRAMEWORKS)
	@$(FRAMEWORKS)/bin/python tests/frameworks/install.py
	@touch $@

$(SITE)/.installed: tests/docs/requirements.lock $(VENV)/.venv
	@$(BIN)/python -m venv --clear $(SITE)
	@$(INSTALL_LOCKED) tests/docs/requirements.lock $(SITE)/bin/python
	@touch $@

$(VENV)/.node: lab_extension/package-lock.json $(VENV)/.dev
	@echo "[dev] installing the tools of the JupyterLab panel"
	@# Building the panel has installed them already, unless the panel came built.
	@cd lab_extension && { [ node_modules/.package-lock.json -nt package-lock.json ] || PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --silent --no-audit --no-fund; }
	@touch $@
