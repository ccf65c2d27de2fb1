.PHONY: help env train test lab export execute figures lint lock clean
python = .venv/bin/python
notebooks = $(wildcard notebooks/*.ipynb)

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## */\t/' | expand -t 10

env: .venv/complete  ## make the environment in .venv

.venv/complete: requirements/cpu.txt requirements/uv.txt requirements/install.sh pyproject.toml
	@sh requirements/install.sh

train: env  ## train LeNet on one and on two devices; ARGS='--full' and so on
	$(python) -m d2lmulti train $(ARGS)

test: env  ## unit tests, then all notebooks with nbval
	$(python) -m pytest tests; unit=$$?; \
	$(python) -m pytest --nbval --nbval-current-env --nbval-cell-timeout=120 notebooks && exit $$unit

lab: env  ## open JupyterLab on the chapters
	$(python) -m jupyter lab notebooks

export: env  ## write d2lmulti/*.py from the notebooks
	$(python) -c "from glob import glob; from nbdev.export import nb_export; \
	[nb_export(name, 'd2lmulti') for name in sorted(glob('notebooks/*.ipynb'))]"

execute: env  ## execute all notebooks in place and clean them
	$(python) -m jupyter nbconvert --to notebook --execute --inplace \
	    --ExecutePreprocessor.record_timing=False $(notebooks)
	$(python) -m nbstripout --keep-output --keep-count \
	    --extra-keys "metadata.kernelspec metadata.language_info" $(notebooks)

figures: env  ## draw img/*.svg
	for script in $(filter-out img/style.py,$(wildcard img/*.py)); do \
	    $(python) $$script || exit 1; done

lint: env  ## check the style
	$(python) -m ruff check .

lock: env  ## pin all packages anew, with hashes
	uv pip compile --universal --python-version 3.8 --generate-hashes \
	    --custom-compile-command 'make lock' --extra cpu --extra dev \
	    pyproject.toml -o requirements/cpu.txt

clean:  ## remove the environment and everything built
	rm -rf .venv .uv .venv-setup.log build *.egg-info .pytest_cache
