# Every target installs the Python packages that it needs into .venv. `test`, `test-all`, `weekly`,
# `regress`, `faults`, `gates`, `picorv32`, `soc` and `soc-bitstream` take from the system's packages
# what is missing, where they may: Icarus Verilog, a compiler for RISC-V, libraries of LiteX's
# simulation. Compiled cores are kept in the user's cache (`extremum cache --clear` empties it).
# Benchmarks and evidence rewrite files of the repository.
#
# `make test PYTHON=python3.12` uses another interpreter, in an environment of its own:
# .venv-python3.12.

PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(patsubst -%,%,$(subst /,-,$(PYTHON))))
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Containers often set this, and then each of the thousand processes that the tests start compiles
# the modules that it imports.
unexport PYTHONDONTWRITEBYTECODE
# The sources are UTF-8, whatever the user's locale is.
export PYTHONUTF8 := 1
# With -j, two groups would be installed into one environment at once, and benchmarks would share
# the processors. The tests use two of these by themselves, and the campaigns all.
.NOTPARALLEL:

.PHONY: help demo test test-all lint format workloads waveform clean
.PHONY: picorv32 memory-to-memory soc soc-bitstream
.PHONY: regress regress-quick formal mutation coverage fuzz faults gates report weekly
.PHONY: networks netlists docs
.PHONY: bench bench-cycles bench-fpga bench-simulation bench-model bench-report bench-check
.DEFAULT_GOAL := help

help:
	@echo "make demo       pools a photograph on the simulated core, checks it, and draws demo.png."
	@echo "make test       runs the quick tests; the first run compiles the cores that they share."
	@echo "make test-all   runs all tests on all simulators, the random ones with 200 examples each:"
	@echo "                an hour or two. EXAMPLES=1000 makes it longer."
	@echo "make weekly     runs a little of regress, formal, mutation, fuzz and faults, and all tests: an"
	@echo "                hour or two. It rewrites no evidence."
	@echo "make regress    runs random jobs on many cores for HOURS=1, and writes what was covered;"
	@echo "                it continues build/regression.sqlite. regress-quick takes a minute or two."
	@echo "make fuzz       fuzzes the software for MINUTES=10: files, arguments, buffers, drivers."
	@echo "make faults     inverts UPSETS=1000 flip-flops of each simulated block, one at a time, and"
	@echo "                says what came of each: masked, latent, wrong result, hang."
	@echo "make gates      simulates netlists of small blocks, and proves one of them equal to the Verilog."
	@echo "make formal     proves properties of the blocks, for all inputs: 6 to 30 minutes."
	@echo "                QUICK=1 takes a minute for the fastest of them."
	@echo "make soc        simulates a LiteX system whose processor pools tensors with the block."
	@echo "make soc-bitstream  builds the system of soc for an ECP5 board: a bitstream, and its timing."
	@echo "make picorv32   simulates a PicoRV32 that runs the program of soc; PROGRAM=own.c runs yours."
	@echo "make memory-to-memory  simulates the block between a DMA and a memory, without a processor."
	@echo "make mutation   puts thousands of faults into the gateware and lists those that no test finds:"
	@echo "                BUDGET=60 minutes; BLOCKS=\"key fold\" takes some blocks, QUICK=1 few faults,"
	@echo "                RULES=1 tries, instead of a sample, the faults that survivors.toml explains."
	@echo "make report     writes the figures of these commands into docs/verification.md and README.md,"
	@echo "                and build/verification.html. It runs no test."
	@echo "make netlists   says whether the cores are, byte for byte, those that the evidence is about;"
	@echo "                ACCEPT=1 keeps netlists that were changed on purpose."
	@echo "make coverage   says which lines of the gateware the random regression executes, and which"
	@echo "                holes nobody has explained: MINUTES=60 at most, on a sample of the cores."
	@echo "make networks   runs twelve ONNX networks with their poolings and argmax on the core."
	@echo "make workloads  runs the workloads of the benchmarks, scaled down, on the simulated core."
	@echo "make waveform   draws the waveform in docs/integration.md from a simulation."
	@echo "make docs       builds the documentation as a site, in build/site, and checks its links."
	@echo "make lint       checks style and types."
	@echo "make format     rewrites the sources in the project's style."
	@echo "make bench      measures everything. Its parts are bench-cycles, bench-fpga,"
	@echo "                bench-simulation and bench-model; bench-report only writes the report."
	@echo "make bench-check  says which published figures are not of the present sources."
	@echo "make clean      removes what these targets made, with the environment and the results of regress,"
	@echo "                but not the user's cache of compiled cores."
	@echo
	@echo "PYTHON=python3.12 makes any of them use another interpreter."

$(VENV)/pip:
	@echo "Making a Python environment in $(VENV) with $(PYTHON)."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "extremum needs Python 3.11 or newer: name one by PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# The extras that a group of targets needs are installed in one go; each has a stamp, which is
# renewed when the dependencies change. Pip would compile what it installs on one processor; some files
# that packages bring are for another Python and do not compile.
#
# setuptools warns, in every editable installation that is no "src layout", of a folder that is
# named as the package is and would be imported in its place. A test sees to it that there is no
# folder `extremum`, so that this one warning is turned off.
QUIET := PYTHONWARNINGS='ignore:Editable installation'
comma := ,
define group
$(VENV)/$(lastword $(1)): pyproject.toml $(VENV)/pip
	@echo "Installing what \`make $$(or $$(MAKECMDGOALS),help)\` needs into $(VENV):" \
	  "extremum[$(subst $() ,$(comma),$(1))]. This takes a minute or two, once."
	@$(QUIET) $(BIN)/python -m pip install --quiet --no-compile --editable \
	  '.[$(subst $() ,$(comma),$(1))]'
	@$(BIN)/python -W ignore -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $(addprefix $(VENV)/,$(1))
endef
$(eval $(call group,sim))
$(eval $(call group,sim demo))
$(eval $(call group,sim demo fpga))
$(eval $(call group,sim soc))
$(eval $(call group,sim docs))
$(eval $(call group,sim networks))
$(eval $(call group,sim regress))
$(eval $(call group,sim report))
$(eval $(call group,sim formal))
$(eval $(call group,sim demo test))
$(eval $(call group,sim demo test lint))
$(eval $(call group,sim demo test mutation))

demo: $(VENV)/demo
	@echo "Running extremum demo: it compiles a core at its first use, then simulates it."
	@$(BIN)/extremum demo --output demo.png

# What comes from the system's packages: a command that tells whether it is there, the packages, and
# what is not possible without them.
define system
.PHONY: $(1)
$(1):
	@$(2) || { \
	  echo "Installing $(3) from the system's packages."; \
	  (command -v apt-get && apt-get update -qq && \
	   DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(3)) >/dev/null 2>&1 || \
	  echo "$(3): missing, and may not be installed from here: $(4)" \
	       "(as root: apt-get install $(3))"; }
endef
$(eval $(call system,icarus,command -v iverilog >/dev/null,iverilog,its tests are skipped))
$(eval $(call system,riscv,command -v riscv64-unknown-elf-gcc >/dev/null,gcc-riscv64-unknown-elf,its \
  tests are skipped, and the systems have no program))
INCLUDE := -include event2/event.h -include json-c/json.h -include zlib.h
$(eval $(call system,litex-libraries,cc $(INCLUDE) -E -x c /dev/null >/dev/null 2>&1,libevent-dev \
  libjson-c-dev zlib1g-dev,LiteX does not simulate))

test: $(VENV)/test icarus riscv
	$(BIN)/python -m pytest -n 2 -q

EXAMPLES ?= 200
test-all: $(VENV)/test icarus riscv
	EXTREMUM_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n 2 -q -m ''

# A campaign that nobody runs stops working unseen. Each line ends with what passed and what failed;
# the first that fails ends it.
weekly: $(VENV)/test icarus riscv
	$(MAKE) regress-quick
	$(MAKE) formal QUICK=1
	$(MAKE) mutation QUICK=1
	$(MAKE) fuzz MINUTES=1 EVIDENCE=build/weekly/fuzz.json
	$(MAKE) faults UPSETS=2 EVIDENCE=build/weekly/faults.json
	$(MAKE) test-all EXAMPLES=20

# A pass of the random regression goes on where the last one ended. BACKENDS="verilator icarus"
# runs it under cocotb; SCHEDULER=tcp://... uses the workers of a Dask cluster.
HOURS ?= 1
BACKENDS ?= native
REGRESS = $(BIN)/extremum regress $(BACKENDS:%=--backend %) $(SCHEDULER:%=--scheduler %)
regress: $(VENV)/regress icarus
	$(REGRESS) --hours $(HOURS) --full-coverage --database build/regression.sqlite \
	  --evidence docs/evidence/regression.json

# A minute on the cores that the tests compile anyway and on one of each other setting of pipelining,
# bare and in a block, with a database of its own.
QUICK_CORES = every_type image volume reduction axi-volume axi-reduction \
  small-volume balanced-volume axi-small-lanes5 axi-balanced-image
regress-quick: $(VENV)/regress
	@rm -f build/regression-quick.sqlite
	$(REGRESS) --minutes 1 --database build/regression-quick.sqlite \
	  $(QUICK_CORES:%=--core %)

fuzz: MINUTES ?= 10
fuzz: $(VENV)/test
	@$(BIN)/python -m pip install --quiet --only-binary atheris --editable '.[fuzz]' || \
	  echo "atheris cannot be installed here: no target is guided by coverage"
	$(BIN)/python -m extremum.tb.fuzz --minutes $(MINUTES) $(EVIDENCE:%=--evidence %)

UPSETS ?= 1000
faults: $(VENV)/test icarus
	$(BIN)/python -m extremum.tb.faults --upsets $(UPSETS) $(EVIDENCE:%=--evidence %)

gates: $(VENV)/test icarus
	$(BIN)/python -m pytest -q -rs -m '' tests/test_gates.py

BUDGET ?= 60
mutation: $(VENV)/mutation
	$(BIN)/python -m extremum.tb.mutation$(if $(RULES),.rules, --budget $(BUDGET) $(if $(QUICK),--quick)) $(BLOCKS)

netlists: $(VENV)/report
	$(BIN)/python -m extremum.tb.netlists $(if $(ACCEPT),--accept)

# It runs no test, but fails if evidence is missing, speaks against its claim, or is of sources that
# have changed since.
report: $(VENV)/report
	$(BIN)/python -m extremum.tb.report

formal: $(VENV)/formal
	$(BIN)/python -m extremum.tb.formal $(if $(QUICK),--quick)

coverage: MINUTES ?= 60
coverage: $(VENV)/demo
	$(BIN)/python -m extremum.tb.code_coverage --budget $(MINUTES)

picorv32: $(VENV)/test riscv
	$(BIN)/python examples/picorv32/run.py $(if $(SIMULATOR),--simulator $(SIMULATOR)) \
	  $(if $(PROGRAM),--program $(PROGRAM))

memory-to-memory: $(VENV)/test
	$(BIN)/python examples/memory_to_memory/run.py $(if $(SIMULATOR),--simulator $(SIMULATOR))

soc: $(VENV)/soc riscv litex-libraries
	$(BIN)/python examples/litex/soc.py simulate

soc-bitstream: $(VENV)/soc $(VENV)/fpga riscv
	$(BIN)/python examples/litex/soc.py bitstream

waveform: $(VENV)/docs
	$(BIN)/python docs/draw_waveform.py

# Built anew each time, so that no page of a document that is gone stays. A warning is an error.
docs: $(VENV)/docs
	@rm -rf build/site
	$(BIN)/python -m sphinx -q -E -W --keep-going -c docs -d build/site-doctrees . build/site
	@$(BIN)/python docs/check_site.py build/site
	@echo "The front page is build/site/index.html."

workloads: $(VENV)/demo
	$(BIN)/python bench/workloads.py

networks: $(VENV)/networks
	$(BIN)/python examples/networks/run.py

bench: bench-cycles bench-fpga bench-simulation bench-model

# The clocks go into the elements per second of bench-fpga. A figure that misses what it must not
# fails, but only after the report is written.
bench-cycles: $(VENV)/demo
	$(BIN)/python bench/cycles.py; status=$$?; \
	  $(BIN)/python bench/block_clocks.py || status=$$?; \
	  $(BIN)/python bench/report.py && exit $$status

bench-fpga: $(VENV)/fpga
	$(BIN)/python bench/fpga.py; status=$$?; $(BIN)/python bench/report.py && exit $$status

bench-report: $(VENV)/demo
	$(BIN)/python bench/report.py

bench-check: $(VENV)/demo
	$(BIN)/python bench/check.py

bench-simulation: $(VENV)/demo
	$(BIN)/python bench/simulation.py; status=$$?; $(BIN)/python bench/report.py && exit $$status

bench-model: $(VENV)/test
	$(BIN)/python bench/model.py; status=$$?; $(BIN)/python bench/report.py && exit $$status

lint: $(VENV)/lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf .venv .venv-* build dist *.egg-info demo.png .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
