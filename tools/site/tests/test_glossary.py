"""The glossary: its chapters have its terms, and the packages its names.

Those of PyTorch are looked up in BUILD=frameworks.
"""

import importlib
import importlib.util
import inspect
import pathlib
import re

import nbformat
import pytest

from tools.notebooks import ROOT, stems

GLOSSARY = pathlib.Path(__file__).parents[1] / 'glossary.md'
ROW = re.compile(
    r'\| \*\*(?P<term>.+?)\*\* \| (?P<meaning>.+?) '
    r'\| chapter (?P<chapter>\d+) \| (?P<elsewhere>.+) \|'
)
FULL = {  # what the glossary shortens
    'DataLoader': 'torch.utils.data.DataLoader',
    'DistributedDataParallel': 'torch.nn.parallel.DistributedDataParallel',
    'PowerSGDState': 'torch.distributed.algorithms.ddp_comm_hooks'
    '.powerSGD_hook.PowerSGDState',
    'powerSGD_hook': 'torch.distributed.algorithms.ddp_comm_hooks'
    '.powerSGD_hook.powerSGD_hook',
    'ZeroRedundancyOptimizer': 'torch.distributed.optim'
    '.ZeroRedundancyOptimizer',
}
# What is no name in the packages: a command, a variable, attributes that
# instances have.
OTHERS = {
    'torchrun',
    'copy',
    'is_causal',  # of a function in C, which has no signature
    'running_mean',
    'running_var',
    'TORCH_FR_BUFFER_SIZE',  # an environment variable
}
QUOTED = re.compile(r'`([^`]+)`(?: of `([^`]+)`)?')


def rows():
    """Return the rows of the table, in order."""
    lines = GLOSSARY.read_text().splitlines()
    matches = [ROW.fullmatch(line) for line in lines if '**' in line]
    assert all(matches), 'not each row has four parts'
    return matches


def said_of(package):
    """Return what the last column says of a package, row by row."""
    return [
        says
        for row in rows()
        for says in re.findall(rf'{package}: ([^;|]+)', row['elsewhere'])
    ]


def test_terms_are_in_alphabetical_order():
    terms = [row['term'].lower().replace('α–β', 'alpha') for row in rows()]
    assert terms == sorted({*terms})


@pytest.mark.parametrize('number', stems())
def test_the_chapter_of_a_term_has_it(number):
    cells = nbformat.read(ROOT / f'notebooks/{stems()[number]}.ipynb', 4).cells
    text = '\n'.join(c.source for c in cells if c.cell_type == 'markdown')
    prose = ' '.join(text.lower().split())
    for row in rows():
        if int(row['chapter']) == number:
            term = re.escape(row['term'].lower())
            assert re.search(rf'(?<!\w){term}', prose), term


def test_every_name_that_d2l_is_said_to_have_is_in_its_package():
    package = importlib.util.find_spec('d2l').origin
    source = pathlib.Path(package).with_name('mxnet.py').read_text()
    names = [
        name
        for part in said_of('D2L')
        if 'section' not in part and 'Gluon' not in part
        for name in re.findall(r'`(\w+)`', part)
    ]
    assert names
    for name in names:
        assert re.search(rf'\b{name}\b', source), name


def resolve(name):
    """Return what a name means; AttributeError or ImportError if nothing."""
    first, *parts = name.split('.')
    path, *rest = [*FULL.get(first, first).split('.'), *parts]
    value = importlib.import_module(path)
    for part in rest:
        path += f'.{part}'
        if not hasattr(value, part):
            importlib.import_module(path)
        value = getattr(value, part)
    return value


def check(says):
    """Raise AttributeError or ImportError for a name that does not exist."""
    for name, owner in QUOTED.findall(says):
        name = name.partition('=')[0]
        if owner and not {name, owner} & OTHERS:
            home = resolve(owner)
            arguments = inspect.signature(home).parameters
            if name not in arguments and not hasattr(home, name):
                raise AttributeError(f'{owner} has no {name}')
        elif not {name, owner} & OTHERS:
            resolve(name)
        elif owner and owner not in OTHERS:
            resolve(owner)


def test_every_name_of_pytorch_exists():
    pytest.importorskip('torch')
    said = said_of('PyTorch')
    assert len(said) > 30
    for says in said:
        check(says)


@pytest.mark.parametrize(
    'says',
    [
        '`torch.distributed.allreduce`',
        '`bucket_cap` of `DistributedDataParallel`',
        '`all_reduce`',
    ],
)
def test_a_name_that_does_not_exist_is_found(says):
    with pytest.raises((AttributeError, ImportError)):
        check(says)
