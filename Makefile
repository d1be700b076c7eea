# Builds, runs and checks the product. `make help` lists what there is.
# Installing happens once: a stamp in the environment is newer than pyproject.toml until that changes.

VENV := .venv
PYTHON := $(VENV)/bin/python
PIP := $(PYTHON) -m pip --disable-pip-version-check --quiet
NEW_SLURM := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/capacity-audit/debian-13
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_BENCH := $(VENV)/.installed-bench

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test newslurm newkernel rollup lint docs bench clean system

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

demo: system $(INSTALLED) ## a generated cluster month, from raw accounting to the report, into demo/
	@rm -rf demo
	@$(VENV)/bin/audit demo demo
	@test -f demo/out/report.pdf && echo "the report: $(CURDIR)/demo/out/report.pdf"

test: $(INSTALLED_DEV) ## run the tests: those of real time one by one, then the others, two at a time
	@scripts/system-packages test
	@scripts/cluster-packages
	@$(PYTHON) -m pytest tests/cluster tests/collectors
	@$(PYTHON) -m pytest -n 2 --ignore tests/cluster --ignore tests/collectors

newslurm: $(INSTALLED_DEV) ## run the tests with a real cluster against Slurm 24.11 of Debian 13 (root, Debian)
	@scripts/cluster-packages $(NEW_SLURM)
	@AUDIT_CLUSTER_ROOT=$(NEW_SLURM) $(PYTHON) -m pytest tests/cluster

newkernel: $(INSTALLED_DEV) ## measure jobs of known use on a kernel with all of cgroup v2 (x86-64, Debian; JSON)
	@$(PYTHON) -m tests.collectors.kernel.run

rollup: $(INSTALLED_DEV) ## hours held beside Slurm's own roll-up, on a real cluster (waits for it: up to an hour)
	@scripts/cluster-packages
	@AUDIT_ROLLUP=1 $(PYTHON) -m pytest tests/cluster/test_rollup.py -rA

lint: $(INSTALLED_DEV) ## format, lint, types, import rules, playbooks
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@cd playbooks && PATH="$(CURDIR)/$(VENV)/bin:$$PATH" ansible-lint --offline -q --profile production .

docs: $(INSTALLED) ## write the generated documents in docs/ anew
	@$(PYTHON) docs/generate.py

bench: $(INSTALLED_BENCH) ## speed and memory beside their baselines (over an hour; JSON; the last three as root)
	@$(PYTHON) -m benchmarks.startup
	@$(PYTHON) -m benchmarks.sample
	@$(PYTHON) -m benchmarks.report
	@$(PYTHON) -m benchmarks.accounting
	@$(PYTHON) -m benchmarks.estimate
	@$(PYTHON) -m benchmarks.foresight --seeds 2
	@$(PYTHON) -m benchmarks.slurm2sql
	@$(PYTHON) -m benchmarks.ingest
	@$(PYTHON) -m benchmarks.telemetry
	@$(PYTHON) -m benchmarks.collector
	@$(PYTHON) -m benchmarks.fleet

clean: ## remove what was made, the environment excepted
	@rm -rf demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find audit tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

system:
	@scripts/system-packages

$(INSTALLED): pyproject.toml
	@scripts/make-venv $(VENV)
	@echo "installing into $(VENV)" >&2
	@$(PIP) install --editable .
	@touch $@

# `--group` came with pip 25.1; Pythons up to 3.13.3 bring an older one.
$(INSTALLED_DEV): $(INSTALLED)
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --group dev
	@touch $@

$(INSTALLED_BENCH): $(INSTALLED_DEV)
	@$(PIP) install --group bench
	@touch $@
