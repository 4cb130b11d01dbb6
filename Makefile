# What a developer and CI call; `make help` lists it. Needs Python 3.11 or newer and make; the first
# run of `test` or `demo` also gets a Kubernetes control plane (devcluster/plimsoll_devcluster/
# programs/ says from where).

PYTHON := .venv/bin/python
INSTALLED := .venv/.installed
# The first Python on this machine that is new enough.
SYSTEM_PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; \
	done)

# How many processes the tests run in, each with a control plane of its own and so 1.5 GiB of memory.
# Integration tests mostly wait, so these may be more than there are cores: of the quick ones four keep
# two cores busy, the slow ones wait longer. A given cluster stands only one test at a time.
WORKERS ?= $(if $(PLIMSOLL_KUBECONFIG),0,$(if $(filter test-slow,$(MAKECMDGOALS)),5,4))

# Unit tests mostly compute: on two cores a third process fills what waits there are.
UNIT_WORKERS ?= 3

# What resolves the locks. It installs nothing of them: pip does, and compares the hashes.
LOCK_TOOL := uv==0.13.9
HASHED := --quiet --require-hashes --only-binary :all:
COMPILE = dist/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--constraint constraints.txt --custom-compile-command 'make lock' $(ARGS)

# Where the wheel and the chart go; the image that the chart installs or that is listed, of which
# platform if it has several, and where the list goes; the repository whose release krew installs.
DIST ?= dist
IMAGE ?= plimsoll-operator
DIGEST ?= ""
PLATFORM ?=
REPOSITORY ?= OWNER/REPOSITORY
IMAGE_SBOM ?= $(DIST)/image-sbom.json

.DEFAULT_GOAL := help
.PHONY: help demo unit test test-slow e2e lint format hooks crds monitoring control-plane prometheus browser \
	workload-controllers karpenter keda kueue vendor lock wheel krew chart sbom image-sbom constraints clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: control-plane ## See jobs being planned on a real control plane with 20 GPU nodes
	$(PYTHON) -m plimsoll_devcluster.demo

# The tiers of tests. Each test is in one of `test` and `test-slow`; those that draw examples are in
# both, and draw many more in the slow one. `unit` is the part of `test` without a cluster.
unit test: export HYPOTHESIS_PROFILE ?= quick
# Without its cache of bytecode each process would compile every test again, with pytest's asserts.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(PYTHON) -m pytest

unit: $(INSTALLED) ## Run the quick tests of pure code, in a minute and a half
	$(PYTEST) tests/unit tests/property -m 'not slow' --numprocesses=$(UNIT_WORKERS) --dist=worksteal $(ARGS)

test: control-plane prometheus browser ## Run all quick tests, in about ten minutes; ARGS="-k word" picks some
	$(PYTEST) -m 'not slow' --numprocesses=$(WORKERS) $(ARGS)

test-slow: control-plane prometheus browser ## Run the tests that `test` leaves out, and draw more examples
	$(PYTEST) -m 'slow or hypothesis' --numprocesses=$(WORKERS) $(ARGS)

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

# With -P the hooks themselves run beside an operator/__init__.py, and one of them says why it must go.
hooks: $(INSTALLED) ## Check style, imports and the CRDs before each git commit, from now on
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --group hooks
	$(PYTHON) -m pre_commit install
	sed -i 's/ -mpre_commit / -P&/' "$$(git rev-parse --git-path hooks/pre-commit)"

crds: $(INSTALLED) ## Generate the CRDs and the reference of the API from the models
	$(PYTHON) -m plimsoll.api.schema.crds write crds
	$(PYTHON) -m plimsoll.api.schema.reference >docs/reference/api.md

monitoring: $(INSTALLED) ## Generate the alerts and the dashboards of the chart
	$(PYTHON) -m plimsoll_monitoring.files write charts/plimsoll/files

prometheus: $(INSTALLED) ## Find, unpack or build the Prometheus that tests need
	@$(PYTHON) -m plimsoll_devcluster prometheus

browser: $(INSTALLED) ## Find, unpack or fetch the Chromium and axe-core that tests of the page need
	@$(PYTHON) -m plimsoll_devcluster browser

workload-controllers: $(INSTALLED) ## Build the controllers of JobSets and the like, which tests else do
	@$(PYTHON) -m plimsoll_devcluster workload-controllers

karpenter: $(INSTALLED) ## Build Karpenter, which tests else do
	@$(PYTHON) -m plimsoll_devcluster karpenter

keda: $(INSTALLED) ## Build KEDA, which bench/live_autoscale.py else does
	@$(PYTHON) -m plimsoll_devcluster keda

kueue: $(INSTALLED) ## Build Kueue, which bench/beside.py else does
	@$(PYTHON) -m plimsoll_devcluster kueue

vendor: $(INSTALLED) ## Fetch the libraries of the console's page, as vendor.json says (needs npm)
	$(PYTHON) hack/vendor.py

control-plane: $(INSTALLED) ## Find, download or build the programs of the control plane
	@$(PYTHON) -m plimsoll_devcluster programs

sbom: $(INSTALLED) ## Write dist/sbom.json, a CycloneDX list of all that is shipped, and check its licences
	rm -rf dist/sbom
	$(PYTHON) -m venv --without-pip dist/sbom/tool
	$(PYTHON) -m venv --without-pip dist/sbom/shipped
	$(PYTHON) -m pip --python dist/sbom/tool/bin/python install $(HASHED) --requirement locks/sbom.txt
	$(PYTHON) -m pip --python dist/sbom/shipped/bin/python install $(HASHED) --requirement locks/shipped.txt
	$(PYTHON) -m pip --python dist/sbom/shipped/bin/python install --quiet --no-deps \
		--build-constraint locks/build.txt .
	dist/sbom/tool/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/sbom.json dist/sbom/shipped/bin/python
	rm -rf dist/sbom/tool
	$(PYTHON) hack/page_sbom.py dist/sbom.json
	$(PYTHON) hack/licences.py dist/sbom.json

wheel: $(INSTALLED) ## Write dist/plimsoll_operator-….whl, as the locks build it
	$(PYTHON) -m pip wheel --quiet --no-deps --build-constraint locks/build.txt --wheel-dir $(DIST) .

krew: wheel ## Write dist/kubectl-plimsoll.tar.gz and its manifest for krew, of a release in REPOSITORY
	$(PYTHON) hack/krew_plugin.py $(DIST)/plimsoll_operator-*.whl $(REPOSITORY)

chart: ## Write dist/plimsoll-….tgz, the chart that installs IMAGE at DIGEST (needs helm)
	rm -rf $(DIST)/chart
	mkdir -p $(DIST)/chart
	cp -RL charts/plimsoll $(DIST)/chart
	sed -i 's|^  repository: .*|  repository: $(IMAGE)|; s|^  digest: .*|  digest: $(DIGEST)|' \
		$(DIST)/chart/plimsoll/values.yaml
	helm package $(DIST)/chart/plimsoll --destination $(DIST)
	rm -rf $(DIST)/chart

# An export that breaks off must not pass for a whole one.
image-sbom: SHELL := bash
image-sbom: .SHELLFLAGS := -o pipefail -ec
image-sbom: ## Write dist/image-sbom.json, a CycloneDX list of all packages in IMAGE (needs docker)
	mkdir -p $(dir $(IMAGE_SBOM))
	container=$$(docker create $(PLATFORM:%=--pull=always --platform=%) $(IMAGE)) \
		&& trap "docker rm $$container >/dev/null" EXIT \
		&& docker export $$container | $(SYSTEM_PYTHON) hack/image_sbom.py $(IMAGE) >$(IMAGE_SBOM)

constraints: ## Choose new versions of everything that the tests and tools run with
	rm -rf .venv
	: >constraints.txt
	$(MAKE) $(INSTALLED)
	$(PYTHON) -m pip install --quiet --group hooks
	.venv/bin/pip freeze --exclude-editable | LC_ALL=C sort >constraints.txt
	touch $(INSTALLED)
	$(MAKE) lock ARGS=--upgrade

lock: ## Write locks/: what releases are made of and made with, for all platforms, with hashes
	$(SYSTEM_PYTHON) -m venv --clear dist/lock
	dist/lock/bin/python -m pip install --quiet $(LOCK_TOOL)
	$(COMPILE) pyproject.toml --extra agent --extra console --output-file locks/shipped.txt
	$(COMPILE) --group sbom --output-file locks/sbom.txt
	$(SYSTEM_PYTHON) -c 'import tomllib; \
		print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
		| $(COMPILE) - --output-file locks/build.txt
	rm -rf dist/lock

clean: ## Remove everything made here (the control plane stays in the user's cache)
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A recent pip comes first: the one that Python brings may not know --group and --build-constraint.
$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(SYSTEM_PYTHON)" || { echo "Python 3.11 or newer is needed, and not on PATH" >&2; exit 1; }
	test -x $(PYTHON) || $(SYSTEM_PYTHON) -m venv .venv
	$(PYTHON) -m pip install --quiet --upgrade 'pip>=25.3'
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[agent,console]' --group dev
	@touch $@
