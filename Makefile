# `make` prints what readers make, `make help-all` everything. In an active conda environment other
# than base (environment.yml) all runs there; elsewhere in .venv, made when first needed by
# make PYTHON=/path/to/python3 (3.11 or newer).
PYTHON ?= python3
CONDA  := $(if $(filter base,$(CONDA_DEFAULT_ENV))$(wildcard $(CONDA_PREFIX)/condabin),,$(CONDA_PREFIX))
ifeq ($(origin VENV)$(if $(CONDA),, none),undefined)
VENV   := $(CONDA)
READY  := conda
else
VENV   ?= .venv
READY  := $(VENV)/.ready
endif
RUN    := $(VENV)/bin/python

# One thread per process: results do not depend on the machine's cores, parallel jobs do not compete.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
MAIN := book test claims article reproduce reproduce-quick lab bench
.PHONY: help help-all conda setup test test-slow test-all test-cores mutants minimum lint book quick check-book pdf lab bench fuzz reproduce reproduce-quick claims article archive codecheck data clean distclean

TABLE = awk -F ':.*\#\# ' '/^[a-z-]+:.*\#\# / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

help: ## The targets that readers need
	@$(TABLE) | grep -w $(MAIN:%=-e 'make %  *')
	@echo '  make help-all         All targets, those of developers too'

help-all: ## This table
	@$(TABLE)

$(VENV)/.ready: requirements.lock pyproject.toml .ci/setup.sh
	@.ci/setup.sh "$(PYTHON)" "$(VENV)"
	@touch $@

conda:
	@$(RUN) -c 'from importlib.metadata import version; [version(name) for name in ("lpsvdd", "jupyter-book")]' 2>/dev/null || \
	{ echo "The conda environment $(CONDA) does not hold this project: run conda env update --file environment.yml," \
	"or conda deactivate, and make builds .venv." >&2; exit 1; }

setup: $(READY) ## Make .venv from the hash-locked requirements (not in conda); the others do this when needed

test: $(READY) ## Run the tests (minutes)
	$(RUN) -m pytest -n auto

test-slow: $(READY) ## Run the slow tests, which `make test` leaves out
	$(RUN) -m pytest -n auto -m slow

test-all: test test-slow ## Run the tests, slow ones included

# Results hold on every processor: the kernels of OpenBLAS for an old one, two newer ones and (where
# there is AVX512) a recent one, and NumPy's own loops held to the instructions of each.
has       = $(shell grep -q -m1 -w $(1) /proc/cpuinfo 2>/dev/null && echo $(2))
KNOWN     = $(call has,sse4_2,Nehalem) $(call has,avx2,Haswell) $(call has,avx2,Zen) $(call has,avx512vl,SkylakeX)
MOST     ?= 4
CORES    ?= $(wordlist 1,$(MOST),$(KNOWN))
Nehalem   = X86_V3 X86_V4 AVX512_ICL AVX512_SPR
Haswell   = X86_V4 AVX512_ICL AVX512_SPR
Zen       = X86_V4 AVX512_ICL AVX512_SPR
SkylakeX  =
TESTS    ?= tests

test-cores: $(READY) ## Run the tests as other processors would compute (CORES, MOST, TESTS)
	@$(foreach core,$(CORES),echo "as $(core):" && OPENBLAS_CORETYPE=$(core) \
	NPY_DISABLE_CPU_FEATURES="$($(core))" $(RUN) -m pytest -n auto -q $(TESTS) &&) true

# Every change of a module is judged by KILLERS, quick tests first; a survivor takes them all.
MODULE  ?= lpsvdd/solver/radius.py
KILLERS ?= tests/method/test_problem.py $(addprefix tests/method/test_,certificate.py identities.py bounds.py \
	rejection.py solver.py surface.py) $(addprefix tests/replication/test_,protocol.py statistics.py)
BROKEN   = _build/mutants

mutants: $(READY) ## Break MODULE of the solver, surface, bounds or referee; list what no test (KILLERS) notices
	rm -rf $(BROKEN) && mkdir -p $(BROKEN) && git ls-files -z | tar -c --null -T - | tar -x -C $(BROKEN)
	sed 's|MODULE|$(MODULE)|; s|TESTS|$(strip $(KILLERS))|' tests/mutants.toml > $(BROKEN)/mutants.toml
	cd $(BROKEN) && export PATH="$(abspath $(VENV))/bin:$$PATH" && cosmic-ray init mutants.toml all.sqlite && \
	cr-filter-operators all.sqlite mutants.toml && cosmic-ray exec mutants.toml all.sqlite && \
	cr-report --surviving-only --show-diff all.sqlite

minimum: ## Try the lowest versions that pyproject.toml allows, in a temporary environment
	PYTHON="$(PYTHON)" .ci/minimum.sh

lint: $(READY) ## Check style, direction of imports and types of the code
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(RUN) -m mypy

BUILD_BOOK = $(VENV)/bin/jupyter-book build book --config _config.yml --path-output . -W --keep-going

book: $(READY) ## Execute the notebooks and render the book
	$(RUN) -m replication notebook --all
	$(BUILD_BOOK)
	@echo "The book: $(abspath _build/html/index.html)"

quick: $(READY) ## The book in the small profile, for a first look and for tests
	$(RUN) -m replication notebook --all --profile quick
	$(BUILD_BOOK)
	@echo "The book (small profile): $(abspath _build/html/index.html)"

check-book: $(READY) ## Open every page of the rendered book in headless Chromium
	$(RUN) tests/browser/check_book.py _build/html --self-test

pdf: $(READY) ## The rendered book as one PDF, book.pdf (needs Chromium)
	$(VENV)/bin/jupyter-book build book --config _config.yml --path-output . --builder singlehtml
	book/print_pdf.sh _build/singlehtml/index.html book.pdf

lab: $(READY) ## Open the notebooks in JupyterLab, to change something
	$(VENV)/bin/jupyter lab $(LAB) notebooks

bench: $(READY) ## Time the solver against general-purpose ones, and on large problems
	$(RUN) -m replication bench
	$(RUN) -m replication bench --profile scale

fuzz: $(READY) ## Solve 10,000 odd problems, judged by 60-digit arithmetic (results/fuzz.csv)
	$(RUN) -m replication fuzz --save results

DATASETS ?=
TRIALS   ?=
JOBS     ?= 2
WHICH     = $(if $(DATASETS),$(foreach name,$(DATASETS),--dataset $(name)),--all)

reproduce: $(READY) ## Recompute the paper's tables, compare with results/ (DATASETS="D7 D14" TRIALS=10)
	$(RUN) -m replication run $(WHICH) $(if $(TRIALS),--trials $(TRIALS)) --from-scratch --compare --jobs $(JOBS)

reproduce-quick: $(READY) ## The same for three small data sets and five splits (seconds)
	$(MAKE) reproduce DATASETS="D1 D7 D17" TRIALS=5

claims: $(READY) ## Recompute every verdict of the ledger; fails if one no longer follows
	$(RUN) -m replication claims --check

article: $(READY) ## The article as PDF, _build/article/article.pdf
	$(RUN) -m replication article

archive: $(READY) ## One deposit of this commit: source, results, article, book if built, metadata
	$(RUN) -m replication archive

codecheck: $(READY) ## Make a part of the results again, compare, print a certificate (minutes)
	$(RUN) -m replication codecheck

data: $(READY) ## Verify the data sets against their checksums
	$(RUN) -m replication data check

clean: ## Remove what was built; .venv stays
	rm -rf _build book.pdf book/notebooks/*.ipynb book/figures .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find lpsvdd replication tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove .venv too
	$(if $(filter conda,$(READY)),,rm -rf $(VENV))
