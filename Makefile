# Two commands for a fresh machine with Python and make: `make demo`, `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check format proof bench clean

# The stamp is newer than pyproject.toml once all it names is installed.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[data,dev]"
	touch $@

demo: $(VENV)/installed ## the main job on the shipped examples
	$(BIN)/python examples/demo.py

test: $(VENV)/installed ## the default suite: no key, no network
	$(BIN)/python -m pytest -m "not slow"

check: $(VENV)/installed ## format, lint, types, and the protocols' own check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/adjudge protocols check $$($(BIN)/python -c "import adjudge.protocols as p; print(*p.builtin_ids())")

# Independent statistics, and the embedded judge with its weights; the proofs that need them are skipped without.
$(VENV)/oracles: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[oracles,local]"
	$(BIN)/adjudge models pull smollm2-135m
	touch $@

proof: $(VENV)/oracles ## the slow proofs
	$(BIN)/python -m pytest -m slow -n 2

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed ## the figures of the README
	$(BIN)/python bench/reading.py
	$(BIN)/python bench/simple_rules.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
