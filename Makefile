# Every target installs what it needs into .venv; nothing else is touched but, for `test` and
# `regress`, a missing Icarus Verilog, which comes from the system's packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help demo test regress lint format workloads clean
.PHONY: bench bench-cycles bench-fpga bench-simulation bench-model bench-report
.DEFAULT_GOAL := help

help:
	@echo "make demo       pool a photograph on the simulated gateware, checked; writes demo.png"
	@echo "make test       run the tests"
	@echo "make regress    run the random tests at length"
	@echo "make workloads  run the published layers, scaled down, on the simulated gateware"
	@echo "make bench      measure everything: bench-cycles, bench-fpga, bench-simulation, bench-model"
	@echo "make lint       check style and types"
	@echo "make format     rewrite the sources in the project's style"
	@echo "make clean      remove what these targets made, the environment included"

$(VENV)/pip: 
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# $(1): the extra. One stamp each, renewed when the dependencies change.
define extra
$(VENV)/$(1): pyproject.toml $(VENV)/pip
	$(BIN)/python -m pip install --quiet --editable '.[$(1)]'
	@touch $$@
endef
$(foreach name,sim demo fpga test lint,$(eval $(call extra,$(name))))

demo: $(VENV)/sim $(VENV)/demo
	$(BIN)/extremum demo --output demo.png

.PHONY: icarus
icarus:
	@command -v iverilog >/dev/null || { \
	  (command -v apt-get && apt-get update -qq && \
	   DEBIAN_FRONTEND=noninteractive apt-get install -y -qq iverilog) >/dev/null 2>&1 || \
	  echo "Icarus Verilog is missing and may not be installed from here: its tests are" \
	       "skipped (as root: apt-get install iverilog)"; }

test: $(VENV)/sim $(VENV)/demo $(VENV)/test icarus
	$(BIN)/python -m pytest -n 2 -q

regress: $(VENV)/sim $(VENV)/demo $(VENV)/test icarus
	EXTREMUM_EXAMPLES=1000 $(BIN)/python -m pytest -n 2 -q

workloads: $(VENV)/sim $(VENV)/demo
	$(BIN)/python bench/workloads.py

bench: bench-cycles bench-fpga bench-simulation bench-model

# The clocks go into the elements per second of bench-fpga. A figure that misses what it must not
# fails, but only after the report is written.
bench-cycles: $(VENV)/sim $(VENV)/demo
	$(BIN)/python bench/cycles.py; status=$$?; $(BIN)/python bench/report.py && exit $$status

bench-fpga: $(VENV)/sim $(VENV)/demo $(VENV)/fpga
	$(BIN)/python bench/fpga.py; status=$$?; $(BIN)/python bench/report.py && exit $$status

bench-report: $(VENV)/sim $(VENV)/demo
	$(BIN)/python bench/report.py

bench-simulation: $(VENV)/sim $(VENV)/demo
	$(BIN)/python bench/simulation.py

bench-model: $(VENV)/sim $(VENV)/test
	$(BIN)/python bench/model.py

lint: $(VENV)/sim $(VENV)/demo $(VENV)/test $(VENV)/lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

format: $(VENV)/lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist *.egg-info demo.png .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
