# Every target sets up what it needs in .venv; nothing else has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What a user needs is installed first; what checks and measures the project, once it is asked for.
STAMP := $(VENV)/.installed
TOOLS := $(VENV)/.tools
# One thread per test, and one test more than cores: some wait for other processes.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 5 --dist worksteal

.PHONY: help setup run check test lint types fast bench bench-quick browser slurm docs report dist data clean

help:            ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

setup: $(STAMP)  ## the environment and the default model, nothing else
	@$(BIN)/wordsway data get minilm
	@echo 'Ready. Now:  . $(BIN)/activate && wordsway pairs "The drug is safe." "The drug is not safe."'

run: data        ## the paper's figures, a quick subset, into out/reproduce/index.html
	$(BIN)/wordsway reproduce --quick --out out/reproduce

check: data $(TOOLS)  ## style, types and the fast tests, side by side: under two minutes on two cores
	@$(MAKE) --no-print-directory --jobs=2 types fast lint

test: data $(TOOLS) browser slurm  ## every test, doctests included: under twelve minutes on two cores
	$(PYTEST)

lint: $(TOOLS)   ## style alone (Ruff)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TOOLS)  ## types alone (mypy: source, benchmarks, tools and tests)
	$(BIN)/mypy

# The doctests of integrations import sentence-transformers, which takes as long as many tests.
fast: data $(TOOLS)  ## the tests that take less than half a second each
	$(PYTEST) -m "not slow" --ignore=src/wordsway/integrations

bench: data $(TOOLS)  ## every figure of docs/notes/performance.md in one run (under half an hour on two quiet cores; resumes where it stopped)
	$(BIN)/wordsway data get mpnet smollm2
	$(BIN)/python -m benchmarks

bench-quick: data $(TOOLS)  ## a small share of it in five minutes, into out/bench/quick.md
	$(BIN)/python -m benchmarks --quick

browser: $(TOOLS)  ## a Chromium for the tests of the page: found, or installed where that is allowed
	$(BIN)/python -m tools.browser

slurm: $(TOOLS)  ## Slurm for the tests of clusters: found, or installed where that is allowed
	$(BIN)/python -m tools.slurm

docs: $(TOOLS)   ## the documentation site, offline, into out/docs/index.html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs out/docs

report: docs browser  ## the chapter of statements and proofs as a PDF, out/report.pdf
	$(BIN)/python -m tools.report

dist: $(TOOLS)   ## a wheel and a source archive, twice the same bytes, tried in an empty environment
	$(BIN)/python -m tools.dist

data: $(STAMP)   ## fetch the reviews, the default model and WordNet into the user's cache (WORDSWAY_HOME), once
	$(BIN)/wordsway data get imdb minilm wordnet

clean:           ## remove the virtual environment and generated output
	rm -rf $(VENV) out build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wordsway needs Python 3.11 or newer; set PYTHON=python3.x")'
	@$(PYTHON) -m venv $(VENV)
	@echo 'Installing wordsway and about 105 packages into $(VENV): 410 MB to download, 1.4 GB on disk.'
	@$(BIN)/python tools/install.py --constraint constraints.txt torch
	@$(BIN)/python tools/install.py --constraint constraints.txt --editable '.[all]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(TOOLS): $(STAMP)
	@echo 'Installing the tools for tests, types and documentation.'
	@$(BIN)/python tools/install.py --constraint constraints.txt --editable '.[dev]'
	@touch $@
