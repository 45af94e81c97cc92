SHELL := /bin/bash
PYTHON ?= python3
.DEFAULT_GOAL := help
.PHONY: help run test test-all lint fmt bench bench-quality golden

help: ## say what each target does
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# The stamp is made last, so an installation that was interrupted is done again.
.venv/.ok: requirements.txt requirements-dev.txt sdk/pyproject.toml .ci/environment
	@PYTHON=$(PYTHON) .ci/environment

run: .venv/.ok ## start the product: web pages, API and worker (HOST, PORT)
	@exec .venv/bin/python manage.py memory_run

test: .venv/.ok ## run every test but the long ones, browser tests last
	@.ci/packages
	@.ci/tests -m "not long"

test-all: .venv/.ok ## run every test, the long ones too
	@.ci/packages
	@.ci/tests

lint: .venv/.ok ## check style, types, templates and spelling
	@.venv/bin/pre-commit run --all-files --config .pre-commit-config.yaml

fmt: .venv/.ok ## put the code into the house format
	@.venv/bin/ruff check --fix-only --quiet . && .venv/bin/ruff format .

bench: .venv/.ok ## measure, and print the figures as JSON
	@.venv/bin/python -m benchmarks

bench-quality: .venv/.ok ## ask the labelled questions by every search strategy
	@.venv/bin/python -m benchmarks quality

golden: .venv/.ok ## write the expected outputs of the golden tests anew
	@MEMORY_TEST_GOLDEN=write .venv/bin/python -m pytest -q tests -m golden
