# `make demo` and `make test` are all that a newcomer needs: both set up what is missing, once.

BIN := .venv/bin
SANDBOX ?= bubblewrap
export SANDBOX
unexport PYTHONDONTWRITEBYTECODE # compiling every module at every start takes twice the time

.DEFAULT_GOAL := help
.PHONY: help demo test attacks agents check fix docs picture pictures bench soak lock wheel clean run-env dev-env

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: run-env ## try honest and cheating agents on six small contracts (SANDBOX=local: no isolation)
	@$(BIN)/steelyard demo $(if $(filter-out bubblewrap,$(SANDBOX)),--sandbox $(SANDBOX))

# Four more than there are cores: a good part of a test is waiting, for time limits and for container engines.
test: dev-env ## every test, on all cores; those with containers where an engine answers or dockerd can be started (PROCESSES=8)
	@scripts/dockerd.sh $(BIN)/python -m pytest -n $(or $(PROCESSES),$$(($$(nproc) + 4))) --dist worksteal

attacks: dev-env ## every known cheat and honest look-alike against the bench, as a table (ONLY=B,X01 MODES=twin JSON=1 SANDBOX=docker)
	@PYTHONPATH=tests/attacks:tests scripts/dockerd.sh $(BIN)/python -m corpus --sandbox $(SANDBOX) $(if $(ONLY),--only $(ONLY)) $(if $(MODES),--modes $(MODES)) $(if $(JSON),--json)

agents: dev-env ## install real clients from their registries and weigh each with a scripted model (ONLY="codex aider" SANDBOX=docker REPLAYS=20)
	@PYTHONPATH=tests/agents:tests/attacks:tests scripts/dockerd.sh $(BIN)/python -m real_agents $(ONLY) --sandbox $(SANDBOX) $(if $(REPLAYS),--replays $(REPLAYS))

check: dev-env ## lint, format, types, and whether the generated pages are fresh
	@$(BIN)/ruff check --no-cache
	@$(BIN)/ruff format --check --no-cache
	@$(BIN)/mypy
	@$(BIN)/python scripts/docs.py --check

fix: dev-env ## let ruff mend and format what it can
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

docs: dev-env ## write the generated pages of docs/ again
	@$(BIN)/python scripts/docs.py

pictures: dev-env ## draw the pictures of docs/reading-results.md again
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh -c 'runs=$$(mktemp -d) && steelyard demo --out "$$runs" >/dev/null && $(BIN)/python scripts/screenshots.py "$$runs" docs/images; rm -rf "$$runs"'

picture: dev-env ## draw the demo for README.md again
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/picture.py docs/images/demo.svg 118 steelyard demo

bench: dev-env ## measure, each thing beside the least it could cost (ROWS="trial cpu" ROUNDS=100 PAGE=FILE)
	@PYTHONPATH=.:tests:tests/attacks:tests/projects scripts/dockerd.sh $(BIN)/python -m benchmarks $(ROWS) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(PAGE),--page $(PAGE))

soak: dev-env ## kill studies with SIGKILL at random moments: nothing is lost, doubled or left (KILLS=1000 SEED=1)
	@$(BIN)/python scripts/soak.py $(or $(KILLS),1000) $(or $(SEED),20260307)

lock: dev-env ## resolve the dependencies again (UPGRADE=1: to the newest)
	@scripts/lock.sh

wheel: run-env ## build dist/steelyard-*.whl, which needs no compiler where it is installed
	@$(BIN)/python -m hatchling build -t wheel

clean: ## remove what make made; runs in .steelyard stay
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis src/steelyard/sandboxes/init/init src/steelyard/sandboxes/init/init.source

run-env:
	@scripts/bootstrap.sh run

dev-env:
	@scripts/bootstrap.sh dev
