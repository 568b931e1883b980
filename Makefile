# Two commands set everything up: `make fuzz` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TARGET ?= torch==2.13.0
# The first run shows its first bugs within three minutes; the second traces, fuzzes and examines more.
FIRST_TIME ?= 150s
TIME ?= 200s
# What `make test` runs: the marks are set in tests/conftest.py.
QUICK := smoke or not (process or server or real or docker or chaos or quality or slow)
# The last commit that passed every test.
BASE ?= $(shell cat .ci/tested)

.PHONY: fuzz space bench ablation soak mutants site test test-all test-reached check requirements release-check clean

$(BIN)/nightfuzz: pyproject.toml requirements/dev.txt
	bash requirements/install.sh '$(PYTHON)' $(VENV) dev
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

# Environment, target, and two runs: each traces, checks, fuzzes, and examines what it found, in its time-box.
fuzz: $(BIN)/nightfuzz
	$(BIN)/nightfuzz pull '$(TARGET)'
	$(BIN)/nightfuzz run --target '$(TARGET)' --time $(FIRST_TIME)
	$(BIN)/nightfuzz run --target '$(TARGET)' --time $(TIME)
	$(BIN)/nightfuzz bugs

# The value space of a target as a file, and what the file is, for a release.
SPACE ?= build/spaces/target
space: $(BIN)/nightfuzz
	mkdir -p $(dir $(SPACE))
	$(BIN)/nightfuzz pull '$(TARGET)'
	$(BIN)/nightfuzz trace --target '$(TARGET)'
	$(BIN)/nightfuzz pack --target '$(TARGET)' --output $(SPACE).space --json > $(SPACE).json

# How fast the engine is here: see docs/how-to/measure-speed.md. Half an hour; options go into BENCH.
bench: $(BIN)/nightfuzz
	$(BIN)/python -m bench throughput $(BENCH)

# What each part of the engine is worth; options go into ABLATION.
ablation: $(BIN)/nightfuzz
	bash requirements/install.sh '$(PYTHON)' $(VENV) bench
	$(BIN)/python -m bench ablation $(ABLATION)

# A long run watched from outside, as `make soak SOAK='--target torch==2.13.0 --state .nightfuzz'`.
soak: $(BIN)/nightfuzz
	$(BIN)/python -m bench soak $(SOAK)

# The share of sampled faults in our own code that `make test` notices. About an hour; options go into MUTANTS.
mutants: $(BIN)/nightfuzz
	bash requirements/install.sh '$(PYTHON)' $(VENV) bench
	$(BIN)/python -m bench mutants --marks '$(QUICK)' $(MUTANTS)

# The documentation as a site in build/site; a broken link or anchor fails. The reference is written from the code first.
site: $(BIN)/nightfuzz
	$(BIN)/python -m bench.reference
	$(BIN)/zensical build --strict --clean

check: $(BIN)/nightfuzz
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Checks, the tests that need no part of their own, and one thin way through each part: under five minutes on two cores.
test: check
	$(BIN)/pytest -n 2 --dist worksteal -m '$(QUICK)'

# Every test, with four times the examples for each property. MARKS takes a share of them, as a night in shards does.
test-all: check
	$(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile=thorough $(if $(MARKS),-m '$(MARKS)')
	$(if $(MARKS),,git rev-parse HEAD > .ci/tested)

# Those of the tests of `test-all` that a change since the commit BASE can reach; every one where BASE is unknown.
test-reached: $(BIN)/nightfuzz
	$(BIN)/python tests/common/reach.py '$(BASE)' > .ci/reached
	xargs --no-run-if-empty $(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile=thorough < .ci/reached

# Writes the locks anew: exact versions with hashes, for every Python from 3.11 on. UPGRADE=--upgrade takes newer versions.
LOCK = $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make requirements' $(UPGRADE)
requirements: $(BIN)/nightfuzz
	$(LOCK) --extra dev --extra bench pyproject.toml --output-file requirements/bench.txt
	$(LOCK) --extra dev --constraint requirements/bench.txt pyproject.toml --output-file requirements/dev.txt
	$(LOCK) --constraint requirements/bench.txt pyproject.toml --output-file requirements/app.txt
	$(LOCK) --constraint requirements/bench.txt --group report --output-file requirements/report.txt

# All that a release does before the upload: TAG=v1.2.3 names it; without TAG the next release is checked.
RELEASE := build/release
release-check: export UV_SYSTEM_CERTS := 1
release-check: check
	$(BIN)/python requirements/release.py check $(TAG)
	rm -rf $(RELEASE)
	$(BIN)/uv build --quiet --no-config --no-build-isolation --out-dir $(RELEASE)
	$(BIN)/python requirements/release.py files $(RELEASE)
	cd $(RELEASE) && '$(CURDIR)/$(BIN)/uv' tool run --quiet --no-config --isolated --from ./*.whl nightfuzz doctor
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml docs/examples/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/zizmor --quiet --offline --no-config --persona pedantic action.yml .github docs/examples

clean:
	rm -rf $(VENV) build .cache *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
