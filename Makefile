# `make run` and `make test` set up everything they need in .venv; nothing else has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test lint bench data clean help

help:            ## what there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

run: data        ## the paper's figures, a quick subset, into out/reproduce/index.html
	$(BIN)/wordsway reproduce --quick --out out/reproduce

test: data       ## the whole test suite, doctests included
	$(BIN)/python -m pytest

lint: $(STAMP)   ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)  ## the naive procedure against ours, into docs/performance.md (about ten minutes)
	$(BIN)/python -m benchmarks

data: $(STAMP)   ## fetch the reviews, the default model and WordNet into the user's cache (WORDSWAY_HOME), once
	$(BIN)/wordsway data get imdb minilm wordnet

clean:           ## remove the virtual environment and generated output
	rm -rf $(VENV) out build *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wordsway needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@
