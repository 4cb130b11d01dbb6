# What a developer and CI call; `make help` lists it. Needs Python 3.11 or newer and make; the first
# run of `test` or `demo` also gets a Kubernetes control plane (devcluster/plimsoll_devcluster/
# programs.py says from where).

PYTHON := .venv/bin/python
INSTALLED := .venv/.installed
# The first Python on this machine that is new enough.
SYSTEM_PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; \
	done)

# How many processes the tests run in, each with a control plane of its own and so 1.5 GiB of memory.
# Integration tests mostly wait, two thirds of the time and more, so these may be more than there are
# cores. A given cluster stands only one test at a time.
WORKERS ?= $(if $(PLIMSOLL_KUBECONFIG),0,5)

# Apart from the tools in constraints.txt: it brings many packages that nothing else needs.
SBOM_TOOL := cyclonedx-bom==7.5.0

.DEFAULT_GOAL := help
.PHONY: help demo test e2e lint format crds monitoring control-plane prometheus sbom constraints clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: control-plane ## See jobs being planned on a real control plane with 20 GPU nodes
	$(PYTHON) -m plimsoll_devcluster.demo

test: control-plane prometheus ## Run the unit, property and integration tests; ARGS="-k word" picks some
	$(PYTHON) -m pytest --numprocesses=$(WORKERS) $(ARGS)

e2e: $(INSTALLED) ## Install the chart in a kind cluster and run real pods (needs docker, kind, kubectl, helm)
	$(PYTHON) -m pytest e2e $(ARGS)

lint: $(INSTALLED) ## Check style, types and the import rules
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/pyright
	.venv/bin/lint-imports

format: $(INSTALLED) ## Format the code and fix what can be fixed
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

crds: $(INSTALLED) ## Generate the CRDs and the reference of the API from the models
	$(PYTHON) -m plimsoll.api.crds write crds
	$(PYTHON) -m plimsoll.api.reference >docs/api.md

monitoring: $(INSTALLED) ## Generate the alerts and the dashboard of the chart
	$(PYTHON) -m plimsoll_monitoring.files write charts/plimsoll/files

prometheus: $(INSTALLED) ## Find, unpack or build the Prometheus that tests need
	@$(PYTHON) -m plimsoll_devcluster prometheus

control-plane: $(INSTALLED) ## Find, download or build the programs of the control plane
	@$(PYTHON) -m plimsoll_devcluster programs

sbom: $(INSTALLED) ## Write dist/sbom.json, a CycloneDX list of all that is shipped, and check its licences
	rm -rf dist/sbom
	$(PYTHON) -m venv dist/sbom/tool
	dist/sbom/tool/bin/python -m pip install --quiet $(SBOM_TOOL)
	$(PYTHON) -m venv --without-pip dist/sbom/shipped
	$(PYTHON) -m pip --python dist/sbom/shipped/bin/python install --quiet --constraint constraints.txt '.[agent]'
	dist/sbom/tool/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/sbom.json dist/sbom/shipped/bin/python
	rm -rf dist/sbom/tool
	$(PYTHON) hack/licences.py dist/sbom.json

constraints: ## Choose new versions of everything that the tests and tools run with
	rm -rf .venv
	: >constraints.txt
	$(MAKE) $(INSTALLED)
	.venv/bin/pip freeze --exclude-editable | LC_ALL=C sort >constraints.txt
	touch $(INSTALLED)

clean: ## Remove everything made here (the control plane stays in the user's cache)
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A recent pip comes first: the one that Python brings may not know --group.
$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(SYSTEM_PYTHON)" || { echo "Python 3.11 or newer is needed, and not on PATH" >&2; exit 1; }
	test -x $(PYTHON) || $(SYSTEM_PYTHON) -m venv .venv
	$(PYTHON) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[agent]' --group dev
	@touch $@
