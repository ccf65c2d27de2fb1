# `make` lists the targets. Each that needs .venv sets it up first.
#     BUILD=gpu, mxnet2     another build of MXNet, in a separate environment
#     BUILD=frameworks      with PyTorch and TensorFlow, for chapters 21 and 22
#     SUITE=...             which tests (`make test`) or benchmarks
#     EDITION=student       the site or PDF without solutions
BUILD ?= cpu
SUITE ?=
EDITION ?=
edition = $(if $(EDITION),-$(EDITION))
sphinx = $(python) -m sphinx -q $(if $(EDITION),-t $(EDITION))
venv = .venv$(if $(filter-out cpu,$(BUILD)),-$(BUILD))
python = $(venv)/bin/python
# The chapters of this build: those that need PyTorch or TensorFlow run in
# BUILD=frameworks only, all others in the other builds.
with_frameworks = $(wildcard notebooks/*_pytorch.ipynb \
    notebooks/*_tensorflow.ipynb)
notebooks = $(if $(filter frameworks,$(BUILD)),$(with_frameworks),$(filter-out \
	$(with_frameworks),$(wildcard notebooks/*.ipynb)))
pytest = $(python) -m pytest -q
# A file or chapter stays together; a crash of MXNet ends the tests.
side_by_side = --dist loadfile --max-worker-restart=0 -n
# A job that hangs is ended, and explained, after 300 s: before the cell is.
nbval = --nbval --nbval-current-env --nbval-cell-timeout=400
# With these files pytest finds what tests/conftest.py does for chapters.
chapters = $(nbval) tests/notebooks/test_notebooks.py $(notebooks)
tests = $(if $(filter frameworks,$(BUILD)),tests/frameworks \
	tests/notebooks/test_exercises.py,tests)
by_hand = d2lmulti/checks.py d2lmulti/check_data.py d2lmulti/check_rules.py \
	d2lmulti/check_mesh.py d2lmulti/check_pipeline.py d2lmulti/check_planner.py \
	d2lmulti/plots.py d2lmulti/checkpoint.py d2lmulti/resume.py \
	d2lmulti/budgets.py d2lmulti/__main__.py d2lmulti/prepare \
	d2lmulti/datasets/*.py d2lrun samestep
compile = pip compile -q --config-file requirements/uv.toml --universal \
	--python-version 3.8 --generate-hashes

# Else every process of the tests would compile MXNet's Python code again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help env train lab lint check test test-all test-ci test-long test-processors \
	test-arm64 test-as-gpus test-hosts test-gpu test-gpu-build bench readme export execute sphinx book pdf slides poster \
	student grade figures horovod lock dist gpu-report clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-10s%s\n", $$1, $$2}' \
	    Makefile

env:  ## set up .venv; PYTHON=/path/to/python3.12 chooses the interpreter
	@BUILD=$(BUILD) exec sh requirements/install.sh

train: env  ## train on one and two devices; options in ARGS='--full'
	$(python) -m d2lmulti train $(ARGS)

# JupyterLab asks for it where root is the only user, as in a container.
as_root = $(if $(filter 0,$(shell id -u)),--allow-root)

# From the project folder, because the chapters show figures in img/.
lab: env  ## open the notebooks in JupyterLab
	$(python) -m jupyterlab \
	    --LabApp.default_url=/lab/tree/notebooks/README.md \
	    $(as_root) $(ARGS)

lint: env
	$(python) -m ruff check
	$(python) -m ruff format --check --quiet
	$(python) -m codespell_lib
	$(python) -m mypy $(by_hand)

check: lint  ## style, types, words and the taught functions: a minute
	$(pytest) $(side_by_side) 2 -m 'not long and not slow' tests/taught \
	    tests/test_layout.py tests/test_words.py

test: test-$(or $(SUITE),all)  ## all tests; SUITE=ci, long, processors, arm64, as-gpus, hosts, gpu or gpu-build

# Tests and chapters in one pool, the longest first. Many tests wait for
# processes, so there are more of them than cores. Cells whose output nbval
# ignores run few rounds and epochs: see `small` in CONTRIBUTING.
test-all: export D2LMULTI_SMALL = 1
test-all: env
	@mkdir -p build; [ $(BUILD) = frameworks ] || \
	    $(MAKE) lint >build/lint.log 2>&1 & lint=$$!; status=0; \
	$(pytest) $(side_by_side) 4 --durations=10 $(nbval) $(tests) \
	    $(notebooks) || status=1; \
	wait $$lint || { cat build/lint.log; status=1; }; \
	[ $(BUILD) = frameworks ] || \
	    echo 'Chapters 21 and 22 need `make test BUILD=frameworks`'; \
	exit $$status

# As other processors would: tests/processors.sh says which. With `ALSO=`,
# only the chapters.
ALSO = tests/taught
test-processors: export D2LMULTI_SMALL = 1
test-processors: env
	@sh tests/processors.sh "$(SETTINGS)" \
	    $(pytest) $(side_by_side) 3 $(chapters) $(ALSO)

test-ci: export D2LMULTI_SMALL = 1
test-ci: env  # jobs that fail or hang, grading, packaging and publishing: CI runs them, too
	$(pytest) $(side_by_side) 2 --durations=5 -m 'ci and not long' $(tests)

test-long: env  # with the stress and kill tests, and many steps
	D2LMULTI_STEPS=2000 D2LMULTI_KILLS=30 $(pytest) $(side_by_side) 2 \
	    -m 'long or not long' $(tests)

test-arm64:  # chapters 1 to 5 on an emulated processor; root, hours
	@sh tests/arm64.sh

test-as-gpus: env  # the notebooks, with CPU devices that play GPUs
	PYTHONPATH="$$PWD/tests/notebooks/two_gpus" $(pytest) \
	    $(side_by_side) 2 $(chapters)

test-hosts: env  # the launcher over ssh and four addresses; needs root
	$(pytest) tests/launcher/hosts.py

# For machines with GPUs; on others the first test fails and says so.
test-gpu: BUILD = gpu
test-gpu: env  # what the chapters claim of devices, on GPUs
	D2LMULTI_DEVICES=gpu $(pytest) tests/gpu.py

without_gpu = LD_LIBRARY_PATH=build/stub .venv-gpu/bin/python -m

test-gpu-build: BUILD = gpu
test-gpu-build: env  # MXNet's GPU build without a GPU; needs gcc
	mkdir -p build/stub
	gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o build/stub/libcuda.so.1 \
	    tests/system/stub_driver.c
	$(without_gpu) d2lrun doctor --quick
	STUB_GPUS=1 $(without_gpu) d2lrun doctor --quick
	$(without_gpu) d2lmulti train --epochs 3 --out build/gpu-env.png

bench: env  ## speed beside peers, 50 minutes; SUITE=quick, cores, cluster, unequal, large_batch, compression, masked_words
	$(python) benchmarks/$(if $(filter cores,$(SUITE)),cores.py,run.py $(SUITE)) \
	    $(ARGS)

readme: env  ## measure what README shows, on a quiet machine; 4 minutes
	$(python) benchmarks/readme.py $(ARGS)

gpu-report: BUILD = gpu
gpu-report: env  ## on a machine with GPUs: test and measure, for sending in
	$(python) benchmarks/gpu_report.py $(ARGS)

export: env  ## write d2lmulti/ from the notebooks, and number the exercises
	$(python) -c "from glob import glob; \
	from nbdev.export import nb_export; \
	[nb_export(f, 'd2lmulti') for f in sorted(glob('notebooks/*.ipynb'))]"
	@cp d2lmulti/hangs.py d2lrun/records.py  # d2lrun imports nothing of it
	@$(python) book/one_file.py
	@$(python) book/contents.py
	@$(python) -m grading.number notebooks

# Stored notebooks tell nothing of the machine that ran them.
execute: env  ## run the notebooks and store their outputs; chapters 21 and 22: BUILD
	@status=0; \
	$(python) -m nbconvert --to notebook --execute --inplace \
	    --ExecutePreprocessor.record_timing=False \
	    --ExecutePreprocessor.extra_arguments=--InteractiveShell.xmode=Minimal \
	    --ExecutePreprocessor.extra_arguments=--InteractiveShell.colors=NoColor \
	    $(notebooks) || status=1; \
	$(python) -m nbstripout --keep-output --keep-count --keep-id \
	    --extra-keys 'metadata.kernelspec metadata.language_info' \
	    $(notebooks) || status=1; \
	exit $$status

sphinx: env
	@$(python) -c 'import sphinx' 2>/dev/null || { \
	    echo 'for the book: make env PYTHON=python3.11' >&2; exit 1; }

# The front page links to the PDF, the slides and the poster if there are any.
# Every page is written (-a), since the search's index has definitions only of
# pages that are.
book: sphinx  ## render the site into build/book; EDITION=student has no solutions
	$(sphinx) -a -W --keep-going -n -D printed_folder="$$PWD/build" \
	    -d build/book-cache$(edition) book build/book$(edition)
	@echo 'The book is in build/book$(edition)/index.html'

pdf: sphinx  ## print the book as build/book.pdf; needs Chromium
	$(sphinx) -b singlehtml -d build/book-single-cache$(edition) book \
	    build/book-single$(edition)
	$(python) book/make_pdf.py build/book-single$(edition)/index.html \
	    build/book$(edition).pdf
	@echo 'The book is in build/book$(edition).pdf'

slides: sphinx  ## make slides of each chapter in build/slides
	@$(python) book/make_slides.py build/slides
	@echo 'The slides are in build/slides/index.html'

poster: sphinx  ## print the book's ideas on a page of A3, build/poster.pdf
	$(python) book/make_poster.py build/poster.pdf
	@echo 'The poster is in build/poster.pdf'

student: env  ## the edition without solutions: build/student and a zip
	@$(python) book/make_student.py build/student
	@echo 'The edition is in build/student and build/student.zip'

# Folder and file may have spaces in their names.
grade: export SUBMISSIONS := $(SUBMISSIONS)
grade: export SECRET_FILE := $(SECRET_FILE)
grade: env  ## grade the notebooks in SUBMISSIONS=folder into build/grades
	@$(python) -m grading "$$SUBMISSIONS" \
	    $${SECRET_FILE:+--secret-file "$$SECRET_FILE"} $(ARGS)

figures: env  ## draw the figures in img/
	@for script in img/*.py; do \
	    [ $$script = img/style.py ] || $(python) $$script || exit; \
	done

# Built for the MXNet in .venv, which an isolated build would not see.
horovod: env  ## compile Horovod into .venv; needs cmake and g++, 10 minutes
	$(python) -m pip --version >/dev/null 2>&1 || $(python) -m ensurepip >/dev/null
	$(python) -m pip install -q 'setuptools<66' wheel cloudpickle pyyaml
	HOROVOD_WITH_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 \
	HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1 \
	HOROVOD_CPU_OPERATIONS=GLOO MAKEFLAGS=-j2 \
	    $(python) -m pip install --no-build-isolation --no-deps \
	    horovod==0.28.1

# uv keeps the versions that it finds in its output: so all locks agree.
lock:  ## renew requirements/*.txt; ARGS=--upgrade takes newer versions
	@uv=uv; $$uv --version >/dev/null 2>&1 || uv=.uv/bin/uv; \
	$$uv --version >/dev/null 2>&1 || { \
	    echo 'make lock needs uv: https://docs.astral.sh/uv' >&2; exit 1; }; \
	$$uv $(compile) $(ARGS) requirements/uv.in -o requirements/uv.txt && \
	for build in cpu gpu mxnet2 frameworks; do \
	    [ $$build = cpu ] || cp requirements/cpu.txt requirements/$$build.txt; \
	    $$uv $(compile) $(ARGS) -c requirements/constraints.txt \
	        --extra $$build --extra dev --extra book pyproject.toml \
	        $$(ls requirements/$$build.in 2>/dev/null) \
	        -o requirements/$$build.txt || exit; \
	done

# From the files that git knows: what else lies here must not get into it.
dist: env  ## build the wheel and the source archive in build/dist
	rm -rf build/dist build/dist-source
	mkdir -p build/dist build/dist-source
	git ls-files -z | tar --null -T - -c | tar -x -C build/dist-source
	$(python) -m build --no-isolation -o build/dist build/dist-source \
	    >build/dist.log || { tail build/dist.log; exit 1; }
	@ls -l build/dist

clean:  ## remove .venv, .uv and all that tools leave behind
	rm -rf .venv*/stamp .venv .venv-* .uv .uv.part build *.egg-info \
	    .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} + \
	    -o -name .ipynb_checkpoints -prune -exec rm -rf {} +
