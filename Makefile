# `make` lists the targets. Each that needs .venv sets it up first. BUILD=gpu
# and BUILD=mxnet2 use another build of MXNet, in an environment of its own.
BUILD ?= cpu
build = $(BUILD)
venv = .venv$(if $(filter-out cpu,$(build)),-$(build))
python = $(venv)/bin/python
notebooks = notebooks/*.ipynb
side_by_side = -n 2 --dist loadfile  # a file or chapter stays together
nbval = --nbval --nbval-current-env --nbval-cell-timeout=120 notebooks
compile = pip compile -q --no-config --universal --python-version 3.8 \
	--generate-hashes

# Else every process of the tests would compile MXNet's Python code anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help env gpu-env train test test-gpu test-mxnet2 check-gpu-env \
	test-as-gpus test-hosts lab bench bench-cluster bench-unequal \
	bench-quick horovod export execute sphinx book pdf slides student \
	figures lint lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-15s%s\n", $$1, $$2}' \
	    Makefile

env:  ## set up .venv; PYTHON=/path/to/python3.10 chooses the interpreter
	@BUILD=$(build) sh requirements/install.sh

gpu-env:  ## the same with MXNet's GPU build, in .venv-gpu; 2.3 GB
	@$(MAKE) -s env BUILD=gpu

train: env  ## train on one and two devices; options in ARGS='--full'
	$(python) -m d2lmulti train $(ARGS)

test: env  ## unit tests, then run the notebooks and compare their outputs
	@status=0; \
	$(python) -m pytest $(side_by_side) tests || status=1; \
	$(python) -m pytest $(side_by_side) $(nbval) || status=1; \
	exit $$status

test-gpu:  ## the same with MXNet's GPU build, on GPUs where there are some
	@$(MAKE) -s test BUILD=gpu

test-mxnet2:  ## the same with MXNet 2, in .venv-mxnet2
	@$(MAKE) -s test BUILD=mxnet2

without_gpu = LD_LIBRARY_PATH=build/stub $(python) -m d2lmulti

check-gpu-env: build = gpu
check-gpu-env: gpu-env  ## try the GPU build without a GPU; needs gcc
	mkdir -p build/stub
	gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o build/stub/libcuda.so.1 \
	    tests/stub_driver.c
	$(without_gpu) doctor --quick
	STUB_GPUS=1 $(without_gpu) doctor --quick
	$(without_gpu) train --epochs 3 --out build/gpu-env.png

test-hosts: env  ## the launcher over ssh and four addresses; needs root
	$(python) -m pytest tests/hosts.py

test-as-gpus: env  ## run the notebooks with CPU devices that play GPUs
	PYTHONPATH=$(CURDIR)/tests/two_gpus $(python) -m pytest \
	    $(side_by_side) $(nbval)

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

# uv keeps the versions that it finds in its output: so all locks agree.
lock:  ## renew requirements/*.txt; ARGS=--upgrade takes newer versions
	@uv=uv; $$uv --version >/dev/null 2>&1 || uv=.uv/bin/uv; \
	$$uv --version >/dev/null 2>&1 || { \
	    echo 'make lock needs uv: https://docs.astral.sh/uv' >&2; exit 1; }; \
	$$uv $(compile) $(ARGS) requirements/uv.in -o requirements/uv.txt && \
	for build in cpu gpu mxnet2; do \
	    [ $$build = cpu ] || cp requirements/cpu.txt requirements/$$build.txt; \
	    $$uv $(compile) $(ARGS) -c requirements/constraints.txt \
	        --extra $$build --extra dev --extra book pyproject.toml \
	        -o requirements/$$build.txt || exit; \
	done

clean:  ## remove .venv, .uv and all that tools leave behind
	rm -rf .venv .venv-* .uv .uv.part build *.egg-info \
	    .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} + \
	    -o -name .ipynb_checkpoints -prune -exec rm -rf {} +
