# Every target sets up what it needs; nothing is installed outside .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CLIENT := clients/python
TYPESCRIPT := clients/typescript
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# The console's files are formatted where there is npm, and always in CI; all else needs only Python.
PRETTIER := $(if $(CI)$(shell command -v npm),requirements/console/node_modules/.package-lock.json)
FORMAT_CONSOLE = node_modules/.bin/prettier --config prettier.json --cache --log-level warn '../../app/http/console/static/**/*.{js,css}' '!../../app/http/console/static/vendor/**' vendor.mjs entries types

help: ## show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: $(VENV)/run.stamp ## set up and start the service on a store of its own (Ctrl-C stops both)
	@exec $(BIN)/remit serve

test: $(VENV)/dev.stamp ## set up and run the tests that need nothing else: about two minutes on two cores
	$(PYTEST) $(QUICK) $(ARGS)

test-all: $(VENV)/dev.stamp $(VENV)/deploy.stamp $(VENV)/docs.stamp ## set up and run every test of a commit, on every store: about fourteen minutes on two cores
	$(PYTEST) --waiting $(shell expr 2 \* $(WORKERS)) -m 'not weekly' $(BRIEF) $(ARGS)

test-weekly: $(VENV)/dev.stamp $(VENV)/deploy.stamp $(VENV)/docs.stamp ## those of clusters, Sentinels, Envoy and packages
	$(PYTEST) -m weekly $(ARGS)

test-nightly: $(VENV)/dev.stamp ## random tests, each with thousands of new examples
	EXAMPLES=$(or $(EXAMPLES),2000) $(PYTEST) -m 'hypothesis and not weekly' $(ARGS)

test-clients: test-client-core test-go $(CLIENT)/.venv-newest/stamp $(CLIENT)/.venv-lowest/stamp test-older-mcp-newest test-older-mcp-lowest test-typescript-newest test-typescript-lowest test-typescript-runtimes ## the tests of clients/, with the newest and the oldest frameworks, and in Deno, Bun and a worker
	cd $(CLIENT) && .venv-newest/bin/mypy $(OLDER_MCP:%=--exclude '/%\.py$$')
	cd $(CLIENT) && .venv-older-mcp-newest/bin/mypy $(OLDER_MCP:%=src/remit_client/%.py)
	cd $(CLIENT) && .venv-newest/bin/pytest --numprocesses 2 tests/frameworks tests/test_pages.py
	cd $(CLIENT) && .venv-lowest/bin/pytest --numprocesses 2 tests/frameworks

test-older-mcp-%: $(VENV)/run.stamp $(CLIENT)/.venv-older-mcp-%/stamp
	cd $(CLIENT) && .venv-older-mcp-$*/bin/pytest --numprocesses 2 tests/frameworks

test-go: $(VENV)/run.stamp ## those of clients/go, on a real service; needs go
	cd clients/go && test -z "$$(gofmt -l .)" && GOPROXY=off go vet . && GOPROXY=off go test . $(ARGS)

test-client-core: $(VENV)/run.stamp $(CLIENT)/.venv/core.stamp ## those of clients/ that need no framework
	cd $(CLIENT) && .venv/bin/pytest --ignore tests/frameworks $(ARGS)

test-typescript: $(TYPESCRIPT)/build/types ## those of clients/typescript that need no framework; needs npm
	diff $< $(TYPESCRIPT)/src/api.ts || { echo "the API has changed: run make client-types"; exit 1; }
	cd $(TYPESCRIPT) && npm run --silent build && node pages.mjs tests/pages README && node_modules/.bin/tsc
	cd $(TYPESCRIPT) && node --test --test-reporter=$(or $(REPORTER),dot) build/tests/all.js

test-typescript-%: test-typescript $(TYPESCRIPT)/frameworks/%/node_modules/.package-lock.json
	cd $(TYPESCRIPT) && REPORTER=$(or $(REPORTER),dot) node frameworks/run.mjs $*

test-typescript-runtimes: test-typescript $(TYPESCRIPT)/runtimes/node_modules/.package-lock.json
	cd $(TYPESCRIPT) && node --test --test-reporter=$(or $(REPORTER),dot) runtimes/run.mjs

client-types: $(TYPESCRIPT)/build/types ## make the types of clients/typescript from the OpenAPI document; needs npm
	cp $< $(TYPESCRIPT)/src/api.ts

check: lint types test-all ## format, lint, types, tests: what CI runs

lint: $(VENV)/dev.stamp $(PRETTIER)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(if $(PRETTIER),cd requirements/console && $(FORMAT_CONSOLE) --check)

types: $(VENV)/dev.stamp
	$(BIN)/mypy

bench: $(VENV)/dev.stamp ## measure everything (an hour); needs two cores and wrk
	$(BIN)/python -m bench all

bench-quick: $(VENV)/dev.stamp ## the main table, in under three minutes
	$(BIN)/python -m bench quick

cluster-demo: $(VENV)/run.stamp ## two replicas, a compactor, a durable Redis and nginx as plain processes
	PATH="$(abspath $(BIN)):$$PATH" deploy/cluster_demo.sh

fmt: $(VENV)/dev.stamp $(PRETTIER) ## format and fix what can be fixed; the console's files with npm
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(if $(PRETTIER),cd requirements/console && $(FORMAT_CONSOLE) --write)

lock: $(VENV)/dev.stamp ## resolve the dependencies of pyproject.toml anew, with hashes
	$(PIP) uv
	$(LOCK) pyproject.toml --extra embedded --extra oidc --extra otel --group dev --output-file requirements/dev.txt
	$(LOCK) pyproject.toml $(AS_DEV) --extra embedded --group build --output-file requirements/run.txt
	$(LOCK) pyproject.toml $(AS_DEV) --extra oidc --group build --output-file requirements/image.txt
	$(LOCK) pyproject.toml $(AS_DEV) --extra oidc --extra otel --group build --output-file requirements/image-otel.txt
	$(LOCK) $(AS_DEV) --group sbom --output-file requirements/sbom.txt
	$(LOCK) --group audit --output-file requirements/audit.txt
	$(LOCK) pyproject.toml $(AS_DEV) --extra embedded --group build --group docs --output-file requirements/docs.txt
	$(LOCK) --group deploy --output-file requirements/deploy.txt
	$(LOCK) $(AS_DEV) --group release --output-file requirements/release.txt
	cd $(CLIENT) && $(abspath $(BIN))/uv pip compile $(LOCK_OPTIONS) pyproject.toml --group core --output-file requirements/core.txt
	cd $(CLIENT) && $(abspath $(BIN))/uv pip compile $(LOCK_OPTIONS) pyproject.toml $(NEW_MCP:%=--extra %) --group frameworks --output-file requirements/frameworks-newest.txt
	cd $(CLIENT) && $(abspath $(BIN))/uv pip compile $(LOCK_OPTIONS) pyproject.toml $(NEW_MCP:%=--extra %) --group frameworks --resolution lowest-direct --output-file requirements/frameworks-lowest.txt
	cd $(CLIENT) && $(abspath $(BIN))/uv pip compile $(LOCK_OPTIONS) pyproject.toml $(OLDER_MCP:%=--extra %) --group frameworks-older-mcp --output-file requirements/frameworks-older-mcp-newest.txt
	cd $(CLIENT) && $(abspath $(BIN))/uv pip compile $(LOCK_OPTIONS) pyproject.toml $(OLDER_MCP:%=--extra %) --group frameworks-older-mcp --resolution lowest-direct --output-file requirements/frameworks-older-mcp-lowest.txt

vendor: requirements/console/node_modules/.package-lock.json ## make the console's libraries anew from their locked versions; needs npm
	cd requirements/console && node vendor.mjs

confusables: $(VENV)/dev.stamp ## make the table of look-alike characters anew from its locked version
	$(BIN)/python requirements/confusables.py

docs: $(VENV)/run.stamp $(VENV)/docs.stamp ## build the documentation, which the service then serves at /docs
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(VENV)/docs/bin/mkdocs build --quiet $(ARGS)

doc-tables: $(VENV)/run.stamp ## write the tables of docs/ that the code knows: scopes, errors, commands
	$(BIN)/python docs/tables.py

man: $(VENV)/run.stamp $(VENV)/release.stamp ## write the man pages of remit to build/man
	PYTHONPATH=.:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') $(VENV)/release/bin/python deploy/man_pages.py build/man

packages: docs man $(VENV)/release.stamp ## build and check wheels and sdists of service and client, into dist/, with what is in them and checksums
	deploy/packages.sh $(VENV)/release/bin

release: ## everything that a release is, but for publishing it: make release VERSION=1.2.0
	deploy/release.sh "$(VERSION)"

deploy-files: $(VENV)/dev.stamp ## write what is derived in deploy/: alert rules, dashboard, schema and table of the chart's values
	$(BIN)/python deploy/generate.py

pictures: $(VENV)/dev.stamp ## take the pictures of docs/console.md anew; needs chromium-headless-shell
	PYTHONPATH=.:tests/support $(BIN)/python tests/console/pictures.py

check-console: $(VENV)/run.stamp requirements/console/node_modules/.package-lock.json ## the console's types, and that its libraries are those of the locked versions; needs npm
	$(BIN)/python -c 'import sys; from app.http.routes import encoded_document as made; sys.stdout.buffer.write(made())' > requirements/console/openapi.json
	cd requirements/console && node_modules/.bin/openapi-typescript openapi.json --output openapi.d.ts && node_modules/.bin/tsc --project .
	made=$$(mktemp -d) && (cd requirements/console && node vendor.mjs $$made/console $$made/tests) && \
	  diff --recursive --exclude '*.d.ts' $$made/console app/http/console/static/vendor && diff --recursive $$made/tests tests/console/vendor && rm -r $$made

audit: $(VENV)/audit.stamp ## look for known vulnerabilities in every locked package; asks PyPI, so it needs the network
	$(VENV)/audit/bin/pip-audit --disable-pip --require-hashes $(LOCKED:%=--requirement %) $(ARGS)

# A file's tests share its stores and replicas, so they stay together. Python may keep what it compiled: the tests start
# the service hundreds of times.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest --numprocesses $(WORKERS)
# Many tests wait for a server to start, stop or fail; one process more than there are cores keeps all cores busy.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Schemathesis takes each process two seconds to load, and its tests are slow ones anyway.
BRIEF = --hypothesis-profile brief
QUICK = -m 'not (slow or faults or stores)' $(BRIEF) -p no:schemathesis --ignore tests/http/test_conformance.py
LOCKED = $(sort $(wildcard requirements/*.txt))
LOCK_OPTIONS = --quiet --universal --python-version 3.11 --generate-hashes --no-header
LOCK = $(BIN)/uv pip compile $(LOCK_OPTIONS)
AS_DEV = --constraint requirements/dev.txt
# Extras of the Python client. Some frameworks need an older mcp than others, so no environment has them all.
NEW_MCP = agent-framework claude-agent-sdk fastmcp google-adk langchain litellm llama-index mcp openai-agents pydantic-ai
OLDER_MCP = crewai strands

# The two stamps are levels of one environment: tests need all that running needs.
$(VENV)/run.stamp: requirements/run.txt pyproject.toml | $(VENV)/venv.stamp
	$(PIP) --require-hashes --requirement requirements/run.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt pyproject.toml | $(VENV)/venv.stamp
	$(PIP) --require-hashes --requirement requirements/dev.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/run.stamp

# Tools that are installed beside the service: what they need is not what it needs.
$(VENV)/audit.stamp $(VENV)/deploy.stamp $(VENV)/docs.stamp $(VENV)/release.stamp: $(VENV)/%.stamp: requirements/%.txt | $(VENV)/venv.stamp
	$(PYTHON) -m venv $(VENV)/$*
	$(VENV)/$*/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# The clients have environments of their own: nothing that they need is installed beside the service.
$(CLIENT)/.venv/core.stamp: $(CLIENT)/requirements/core.txt $(CLIENT)/pyproject.toml
	$(PYTHON) -m venv $(CLIENT)/.venv
	$(CLIENT)/.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	$(CLIENT)/.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable $(CLIENT)
	@touch $@

# The lock names all that is needed. Without --no-deps, pip 23 wants the newest release of what is needed with an extra.
$(CLIENT)/.venv-%/stamp: $(CLIENT)/requirements/frameworks-%.txt $(CLIENT)/pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable $(CLIENT)
	@touch $@

requirements/console/node_modules/.package-lock.json: requirements/console/package-lock.json
	cd requirements/console && npm ci --no-progress
	@touch $@

$(TYPESCRIPT)/node_modules/.package-lock.json: $(TYPESCRIPT)/package-lock.json
	cd $(TYPESCRIPT) && npm ci --no-progress --ignore-scripts
	@touch $@

$(TYPESCRIPT)/runtimes/node_modules/.package-lock.json: $(TYPESCRIPT)/runtimes/package-lock.json
	cd $(TYPESCRIPT)/runtimes && npm ci --no-progress --ignore-scripts && node node_modules/bun/install.js
	@touch $@

$(TYPESCRIPT)/frameworks/%/node_modules/.package-lock.json: $(TYPESCRIPT)/frameworks/%/package-lock.json
	cd $(@D)/.. && npm ci --no-progress
	@touch $@

$(TYPESCRIPT)/build/types: $(TYPESCRIPT)/node_modules/.package-lock.json $(VENV)/run.stamp always
	mkdir -p $(@D)
	$(BIN)/python -c 'import sys; from app.http.routes import encoded_document as made; sys.stdout.buffer.write(made())' | node $(TYPESCRIPT)/types.mjs $@

$(VENV)/venv.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Remit needs Python 3.11 or later; name one with make PYTHON=…"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

.SECONDARY:
.PHONY: always help run test test-all test-weekly test-nightly test-clients test-client-core test-typescript test-typescript-runtimes client-types check lint types bench bench-quick cluster-demo fmt lock vendor confusables check-console pictures deploy-files doc-tables docs audit man packages release
.DEFAULT_GOAL := help
