# `make` lists the targets. Each that needs .venv sets it up first.
python = .venv/bin/python
notebooks = notebooks/*.ipynb
side_by_side = -n 2 --dist loadfile  # a file or chapter stays together
compile = pip compile -q --no-config --universal --python-version 3.8 \
	--generate-hashes

.PHONY: help env train test test-hosts lab bench bench-cluster bench-quick \
	bench-unequal sphinx book pdf slides student horovod export execute figures lint lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s%s\n", $$1, $$2}' \
	    Makefile

env:  ## set up .venv; PYTHON=/path/to/python3.10 chooses the interpreter
	@sh requirements/install.sh

train: env  ## train on one and two devices; options in ARGS='--full'
	$(python) -m d2lmulti train $(ARGS)

test: env  ## unit tests, then run the notebooks and compare their outputs
	@status=0; \
	$(python) -m pytest $(side_by_side) tests || status=1; \
	$(python) -m pytest $(side_by_side) --nbval --nbval-current-env \
	    --nbval-cell-timeout=120 notebooks || status=1; \
	exit $$status

test-hosts: env  ## the launcher over ssh and four addresses; needs root
	$(python) -m pytest tests/hosts.py

# From the project folder, because the chapters show figures in img/.
lab: env  ## open the notebooks in JupyterLab
	$(python) -m jupyterlab --LabApp.default_url=/lab/tree/notebooks $(ARGS)

bench: env  ## measure speed beside peers; needs a quiet machine, 50 minutes
	$(python) benchmarks/bench.py $(ARGS)

bench-cluster: env  ## the same with several processes, 20 minutes
	$(python) benchmarks/bench.py --cluster $(ARGS)

bench-unequal: env  ## unequal devices, batch normalization; 4 minutes
	$(python) benchmarks/bench.py --unequal $(ARGS)

bench-quick: env  ## the same in two minutes, without PyTorch and whole epochs
	$(python) benchmarks/bench.py --quick $(ARGS)

# Built for the MXNet in .venv, which a build of its own would not see.
horovod: env  ## compile Horovod into .venv; needs cmake and g++, 10 minutes
	$(python) -m pip --version >/dev/null 2>&1 || $(python) -m ensurepip >/dev/null
	$(python) -m pip install -q 'setuptools<66' wheel cloudpickle pyyaml
	HOROVOD_WITH_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 \
	HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1 \
	HOROVOD_CPU_OPERATIONS=GLOO MAKEFLAGS=-j2 \
	    $(python) -m pip install --no-build-isolation --no-deps \
	    horovod==0.28.1

export: env  ## write d2lmulti/*.py from the notebooks
	$(python) -c "from glob import glob; \
	from nbdev.export import nb_export; \
	[nb_export(f, 'd2lmulti') for f in sorted(glob('$(notebooks)'))]"

# Stored notebooks tell nothing of the machine that ran them.
execute: env  ## run the notebooks and store their outputs
	@status=0; \
	$(python) -m nbconvert --to notebook --execute --inplace \
	    --ExecutePreprocessor.record_timing=False $(notebooks) || status=1; \
	$(python) -m nbstripout --keep-output --keep-count --keep-id \
	    --extra-keys 'metadata.kernelspec metadata.language_info' \
	    $(notebooks) || status=1; \
	exit $$status

sphinx: env
	@$(python) -c 'import sphinx' 2>/dev/null || { \
	    echo 'for the book: make env PYTHON=python3.11' >&2; exit 1; }

book: sphinx  ## render the chapters as a web site in build/book
	$(python) -m sphinx -W --keep-going -q -n -d build/book-cache book \
	    build/book
	@echo 'The book is in build/book/index.html'

pdf: sphinx  ## print the book as build/book.pdf; needs Chromium
	$(python) -m sphinx -b singlehtml -q -d build/book-single-cache book \
	    build/book-single
	$(python) book/make_pdf.py build/book-single/index.html build/book.pdf
	@echo 'The book is in build/book.pdf'

slides: sphinx  ## make slides of each chapter in build/slides
	@$(python) book/make_slides.py build/slides
	@echo 'The slides are in build/slides/index.html'

student: env  ## the edition without solutions: build/student and a zip
	@$(python) book/make_student.py build/student
	@echo 'The edition is in build/student and build/student.zip'

figures: env  ## draw the figures in img/
	@for script in img/*.py; do \
	    [ $$script = img/style.py ] || $(python) $$script || exit; \
	done

lint: env  ## check the style of code and notebooks
	$(python) -m ruff check

lock:  ## renew requirements/*.txt; ARGS=--upgrade takes newer versions
	@uv=uv; $$uv --version >/dev/null 2>&1 || uv=.uv/bin/uv; \
	$$uv --version >/dev/null 2>&1 || { \
	    echo 'make lock needs uv: https://docs.astral.sh/uv' >&2; exit 1; }; \
	$$uv $(compile) $(ARGS) requirements/uv.in -o requirements/uv.txt && \
	$$uv $(compile) $(ARGS) -c requirements/constraints.txt \
	    --extra cpu --extra dev --extra book pyproject.toml -o requirements/cpu.txt

clean:  ## remove .venv, .uv and all that tools leave behind
	rm -rf .venv .uv .uv.part .venv-setup.log build *.egg-info \
	    .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} + \
	    -o -name .ipynb_checkpoints -prune -exec rm -rf {} +
