# ReviewHub. `make help` lists what there is; `make run` and `make test` need python3 (3.11+, with venv) and nothing else.
# Debian's own Python first: it is built with profile-guided optimisation, which one that was compiled by hand seldom is.
PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo /usr/bin/python3 || echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Python compiles what it imports; compiling everything else too would double the time of the first start.
export PIP_NO_COMPILE := 1
# Kept, that is: without, each of the many processes that run and test the product would compile it all again.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONUNBUFFERED := 1

.DEFAULT_GOAL := help
.PHONY: help run dev test check chaos format lock clean

help: ## lists the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(VENV)/run.done ## installs what is missing and runs everything; Ctrl-C ends it
	@$(BIN)/python manage.py first_start
	@exec $(BIN)/python manage.py up

dev: $(VENV)/dev.done ## like run, with the logs on this console and a restart when code changes
	@$(BIN)/python manage.py first_start
	@exec $(BIN)/python manage.py up --console --reload

test: $(VENV)/dev.done ## every test: SQLite, beside it PostgreSQL and Redis when they answer, then the browser
	@$(BIN)/python -m tests.everything

check: $(VENV)/dev.done ## format, lint, types, import contracts, migrations, deployment, templates
	@$(BIN)/python -m tests.check

chaos: $(VENV)/dev.done ## races and kills, long: CHAOS_ROUNDS=200 for each (the default)
	@$(BIN)/python -m tests.everything --chaos

format: $(VENV)/dev.done ## formats the code and the templates
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .
	@$(BIN)/djhtml --tabwidth 2 templates

lock: ## writes the locks in requirements/ anew
	@docker/lock.sh $(PYTHON)

clean: ## removes the virtual environment, not the data in var/
	rm -rf $(VENV)

$(VENV)/run.done: requirements/base.txt pyproject.toml agents/pyproject.toml
	@docker/install.sh $(PYTHON) $(VENV) requirements/base.txt && touch $@

$(VENV)/dev.done: requirements/dev.txt pyproject.toml agents/pyproject.toml
	@docker/install.sh $(PYTHON) $(VENV) requirements/dev.txt && touch $@ $(VENV)/run.done
