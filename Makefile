# Everything sets itself up in .venv on a machine that has only Python (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?=
PEERS ?=
RESUME ?=
PARTS ?=
FOLDER ?=
QUICK ?=
# What both pages of benchmarks take.
MEASURE = $(BIN)/python -m benchmarks.run $(PARTS) $(if $(DATA),--data $(DATA)) $(if $(RESUME),--resume) \
	$(if $(FOLDER),--folder $(FOLDER)) $(if $(PEERS),--peers $(PEERS)) --out docs/results

.PHONY: demo test lint format bench large experiments league docs pictures release-check lowest portable fuzz soak web clean help

help:
	@echo "make demo         fit, report and draw the digits demo into demo/"
	@echo "make test         run the test suite"
	@echo "make lint         ruff and mypy"
	@echo "make bench        ratios against peers and limits (docs/results/speed.md); DATA, RESUME=1, PARTS=\"fit metrics\""
	@echo "make large        large maps and files, all goals (docs/results/large.md; hours); DATA, RESUME=1, PARTS=drift,"
	@echo "                  FOLDER=where large files may lie"
	@echo "make experiments  the papers' tables (hours); DATA=folder of the data sets, PEERS=python with umap-learn and others,"
	@echo "                  RESUME=1 measures what has no rows, RESUME=only nothing, RESUME=current also what is older"
	@echo "make league       the methods of the field on its own tables (docs/results/league.md; an hour); DATA, PEERS=python with the"
	@echo "                  packages that experiments/league_methods.py names; resumes; PARTS=\"UMAP PCA\", QUICK=1 for a trial"
	@echo "make docs         the documentation, into docs/_build/html"
	@echo "make pictures     the README's pictures anew, from the gallery"
	@echo "make release-check  build wheel and sdist, try both in clean environments"
	@echo "make lowest       the heart of the tests with the lowest versions that pyproject.toml allows"
	@echo "make fuzz         damaged and forged files for every door, and odd requests (hours); python tools/fuzz.py --help"
	@echo "make portable     the tests that depend on rounding, under other processors' kernels"
	@echo "make soak         ten minutes of good and bad requests to a live explorer"
	@echo "make web          rebuild the page from web/ (needs node)"

$(VENV)/.user: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot,io]"
	@touch $@

$(VENV)/.dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@ $(VENV)/.user

# UMAP is judged by the experiments, and imported by nothing else.
$(VENV)/.umap: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[umap]"
	@touch $@

$(VENV)/.docs: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@ $(VENV)/.user

demo: $(VENV)/.user
	$(BIN)/prismap demo -o demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(MEASURE) --page speed

large: $(VENV)/.dev
	$(MEASURE) --page large

experiments: $(VENV)/.umap
	$(BIN)/python -m experiments.run $(if $(DATA),--data $(DATA)) $(if $(PEERS),--peers $(PEERS)) \
		$(if $(RESUME),--resume $(filter only current,$(RESUME)))

# Parts that this library has measured already are left out.
league: $(VENV)/.dev
	$(BIN)/python -m experiments.run --only league --resume current $(if $(DATA),--data $(DATA)) $(if $(PEERS),--peers $(PEERS)) \
		$(if $(PARTS),--parts $(PARTS)) $(if $(QUICK),--quick --out build/league)

# Warnings are errors. Examples that did not change are not run again.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

pictures: docs
	$(BIN)/python tools/pictures.py

release-check:
	PYTHON=$(PYTHON) bash tools/smoke_release.sh

lowest:
	PYTHON=$(PYTHON) bash tools/check_lowest.sh

fuzz: $(VENV)/.dev
	$(BIN)/python tools/fuzz.py

portable: $(VENV)/.dev
	PYTHON=$(BIN)/python bash tools/portable.sh

soak: $(VENV)/.dev
	$(BIN)/python tools/soak.py

web:
	cd web && npm ci --no-audit --no-fund && npm run build

clean:
	rm -rf $(VENV) demo dist build .pytest_cache .mypy_cache .ruff_cache
