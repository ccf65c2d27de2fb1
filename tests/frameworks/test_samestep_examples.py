"""What `samestep`'s page and its reports tell of Trainer, Accelerate and
Lightning, in an environment with them, which the tests set up."""

import re

import pytest
from samestep_page import (
    FINE,
    PAGE,
    SCRIPTS,
    changed,
    run_recipe,
    run_script,
    shown_by,
)

from tools.speed.peers.environments import ROOT, TRANSFORMERS

pytestmark = pytest.mark.long

MODELS = {  # a config, the class, the two ratios, what repairs them
    'gpt2': (
        'GPT2Config(vocab_size=100)',
        'AutoModelForCausalLM',
        '0.9167, 4 parts / 1: 1.0000',
        "model.loss_type = 'ForCausalLM'",
    ),
    't5': (
        'T5Config(vocab_size=100, decoder_start_token_id=0)',
        'AutoModelForSeq2SeqLM',
        '1.0000, 4 parts / 1: 4.0000',
        'model.accepts_loss_kwargs = False',
    ),
    'bert': (
        'BertConfig(vocab_size=100)',
        'AutoModelForMaskedLM',
        '1.0000, 4 parts / 1: 4.0000',
        'model.accepts_loss_kwargs = False',
    ),
    'llama': (
        'LlamaConfig(vocab_size=100)',
        'AutoModelForCausalLM',
        '1.0000, 4 parts / 1: 1.0000',
        None,
    ),
}
RIGHT = '1.0000, 4 parts / 1: 1.0000'
T5 = [
    ('GPT2Config, GPT2LMHeadModel', 'T5Config, T5ForConditionalGeneration'),
    (
        'sizes = dict(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, '
        'n_head=2)',
        'sizes = dict(vocab_size=50, d_model=32, d_kv=16, d_ff=32, '
        'num_layers=2, num_heads=2)',
    ),
    (
        'dropout = dict(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)',
        'dropout = dict(dropout_rate=0, decoder_start_token_id=0)',
    ),
    (
        'GPT2LMHeadModel(GPT2Config(**sizes',
        'T5ForConditionalGeneration(T5Config(**sizes',
    ),
]


@pytest.fixture(scope='module')
def python():
    assert TRANSFORMERS.why_missing() is None
    return (str(TRANSFORMERS.python),)


def test_the_first_script_prints_what_stands_below_it(python, tmp_path):
    shown = re.findall(r'```(?:python)?\n(.*?)```', PAGE, re.S)[1]
    found = run_recipe(tmp_path, 'gpt2.py', (), python)
    assert shown_by(shown) in shown_by(found)


def test_accumulation_of_t5_is_found(python, tmp_path):
    found = run_recipe(tmp_path, 'gpt2.py', T5, python)
    assert 'gradient of all 47 arrays' in found
    assert 'The move is the right one times 4.' in found
    assert 'passes back 4 times what it should' in found


@pytest.mark.parametrize('name', MODELS)
def test_the_ratios_of_a_model_are_those_of_the_table(name, python, tmp_path):
    config, head, ratios, repair = MODELS[name]
    made = f'from transformers import *\n{config}.save_pretrained("{name}")\n'
    (tmp_path / 'made.py').write_text(made)
    run_script(tmp_path, 'made.py', python)
    line = 'found = new_model(), Norm()'
    for repaired in (False, True) if repair else (False,):
        source = SCRIPTS['affected.py']
        if repaired:
            source = changed(source, [(line, f'{line}\n    {repair}')])
            assert f'`{repair}`' in PAGE
        (tmp_path / 'affected.py').write_text(source)
        found = run_script(tmp_path, f'affected.py {name} {head}', python)
        last = f'Trainer / plain: {RIGHT if repaired else ratios}\n'
        assert found.endswith(last)


def test_a_masked_prompt_hides_the_first_label(python, tmp_path):
    config = 'GPT2Config(vocab_size=100)'
    made = f'from transformers import *\n{config}.save_pretrained("gpt2")\n'
    (tmp_path / 'made.py').write_text(made)
    run_script(tmp_path, 'made.py', python)
    rows = "rows = [{'input_ids'"
    masked = f'labels = labels.clone()\nlabels[:, :2] = -100\n{rows}'
    source = changed(SCRIPTS['affected.py'], [(rows, masked)])
    (tmp_path / 'affected.py').write_text(source)
    command = 'affected.py gpt2 AutoModelForCausalLM'
    found = run_script(tmp_path, command, python)
    assert found.endswith(f'Trainer / plain: {RIGHT}\n')


def test_lightning_and_accelerate(python, tmp_path):
    found = run_recipe(tmp_path, 'libraries.py', (), python)
    assert found.count(FINE) == 2
    ragged = [('randn(64, 20)', 'randn(61, 20)'), ('(5, (64,))', '(5, (61,))')]
    found = run_recipe(tmp_path, 'libraries.py', ragged, python)
    said = 'it counts 0 to 47 0.953 times, 48 to 60 1.17 times'
    assert FINE not in found and found.count(said) == 2 and said in PAGE


@pytest.mark.parametrize(('name', 'factor'), [('t5', 4), ('gpt2', 11 / 12)])
def test_the_lines_of_a_report_show_the_bug(name, factor, python, tmp_path):
    text = (ROOT / f'samestep/examples/{name}.md').read_text()
    (quoted,) = re.findall('> ```python\n(.*?)> ```', text, re.DOTALL)
    source = re.sub('^> ?', '', quoted, flags=re.MULTILINE)
    (tmp_path / 'report.py').write_text(source)
    last = run_script(tmp_path, 'report.py', python).split()[-1]
    assert float(last) == pytest.approx(factor, rel=1e-5)
