"""The recipes of the page *Verify your own training step* are right, and see
the bugs that the page names."""

import re
import sys

import pytest
from verify_page import FINE, ROOT, SCRIPTS, run_recipe

from tools.speed.peers.environments import JAX, TRANSFORMERS

BUGS = {
    'a mean of means': (
        'smallest.py',
        [
            ('total = gradient', 'total = len(X) / 2 / m * gradient'),
            ('+ gradient(w', '+ len(X) / 2 / (len(X) - m) * gradient(w'),
        ],
        'as the mean of the means of 2 parts is',
    ),
    'a row forgotten': (
        'smallest.py',
        [('gradient(w, X[m:], y[m:])', 'gradient(w, X[m:-1], y[m:-1])')],
        '60 never',
    ),
    'a sum that the signs hide': (
        'two_questions.py',
        [("{'w': total / len(X)}", "{'w': total}")],
        'gradient of w: off by',
    ),
    'another rate': (
        'two_questions.py',
        [('update(params, found))', "{'w': w - 0.2 * np.sign(total)})")],
        'update of w: off by',
    ),
    'no exchange': (
        'gluon.py',
        [
            (
                "{'learning_rate': 0.1}\n",
                "{'learning_rate': 0.1}, kvstore=None\n",
            )
        ],
        ' never',
    ),
    'divided by the shard': (
        'gluon.py',
        [('trainer.step(len(X))', 'trainer.step(len(X) / len(devices))')],
        'off by',
    ),
}


@pytest.mark.parametrize(
    'name', ['smallest.py', 'two_questions.py', 'gluon.py']
)
def test_a_recipe_is_right(name, tmp_path):
    assert run_recipe(tmp_path, name) == f'{FINE}\n'


@pytest.mark.parametrize('bug', BUGS)
def test_a_bug_in_a_recipe_is_found(bug, tmp_path):
    name, changes, cause = BUGS[bug]
    found = run_recipe(tmp_path, name, changes)
    assert FINE not in found and cause in found


def test_the_test_of_the_page_passes_and_can_fail(tmp_path):
    def passes(*changes):
        found = run_recipe(
            *(tmp_path, 'smallest.py', changes),
            (sys.executable, '-c', 'import pytest, sys; pytest.main(["-q"])'),
        )
        return '1 passed' in found and 'failed' not in found

    assert SCRIPTS['test_my_step.py']
    assert passes()
    assert not passes(('gradient(w, X[m:], y[m:])', '0 * w'))


@pytest.mark.long
def test_the_recipe_for_jax(tmp_path):
    """In the environment of the benchmark, which it sets up."""
    assert JAX.why_missing() is None
    python = (str(JAX.python),)
    assert run_recipe(tmp_path, 'jax_steps.py', (), python) == f'{FINE}\n'
    for *bug, cause in (
        ("jax.lax.psum(gradients, 'devices')", 'gradients', ' never'),
        ('g / len(X), total', '2 * g / len(X), total', 'gradient of all 4'),
        ('update(params, gradients))', 'params)', 'update of all 4'),
    ):
        found = run_recipe(tmp_path, 'jax_steps.py', [bug], python)
        assert FINE not in found and cause in found


TRAINERS = {
    'trainer.py': ('max_grad_norm=0.1', 'max_grad_norm=0.2', 'update of'),
    'accelerated.py': (
        'loss * parts / len(X)',
        'loss / len(X)',
        'the right one times 0.25',
    ),
    'lit.py': (
        'batches[1:2]',
        'batches[:1]',
        'it counts 0 to 47 0.953 times, 48 to 60 1.17 times',
    ),
}


@pytest.mark.long
@pytest.mark.parametrize('name', TRAINERS)
def test_the_recipes_of_libraries_for_pytorch(name, tmp_path):
    """In an environment with them, which it sets up."""
    assert TRANSFORMERS.why_missing() is None
    python = (str(TRANSFORMERS.python),)
    *bug, cause = TRAINERS[name]
    assert FINE in run_recipe(tmp_path, name, (), python)
    found = run_recipe(tmp_path, name, [bug], python)
    assert FINE not in found and cause in found


@pytest.mark.long
def test_what_readme_found_in_a_library(tmp_path):
    """GPT-2, which `Trainer` of this version trains with other gradients."""
    assert TRANSFORMERS.why_missing() is None
    page = (ROOT / 'samestep/README.md').read_text('utf-8')
    script, shown = re.findall(r'```(?:python)?\n(.*?)```', page, re.S)[:2]
    (tmp_path / 'gpt2.py').write_text(script)
    found = run_recipe(*(tmp_path, 'gpt2.py', ()), (str(TRANSFORMERS.python),))
    for line in shown.splitlines():  # how far it is off is the processor's
        assert re.sub(r'off by .*? bound\. ', '', line) in re.sub(
            r'off by .*? bound\. ', '', found
        )
