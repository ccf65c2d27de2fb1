"""The live bugs that `samestep`'s examples find in a library, and the lines
that its texts for their reports show."""

import pathlib
import re

import pytest
from verify_page import run_script

from tools.speed.peers.environments import ROOT, TRANSFORMERS

EXAMPLES = ROOT / 'samestep/examples'
IMPORTS = 'import torch\nfrom transformers import *\n'


def printed(folder, source):
    assert TRANSFORMERS.why_missing() is None
    pathlib.Path(folder, 'script.py').write_text(source)
    return run_script(folder, 'script.py', (str(TRANSFORMERS.python),))


@pytest.mark.long
def test_accumulation_of_t5_is_found(tmp_path):
    found = printed(tmp_path, (EXAMPLES / 't5.py').read_text())
    assert 'gradient of all 47 arrays' in found
    assert 'The move is the right one times 4.' in found
    assert 'passes back 4 times what it should' in found


@pytest.mark.long
@pytest.mark.parametrize(('name', 'factor'), [('t5', 4), ('gpt2', 11 / 12)])
def test_the_lines_of_a_report_show_the_bug(name, factor, tmp_path):
    text = (EXAMPLES / f'{name}.md').read_text()
    (quoted,) = re.findall('> ```python\n(.*?)> ```', text, re.DOTALL)
    source = re.sub('^> ?', '', quoted, flags=re.MULTILINE)
    last = printed(tmp_path, IMPORTS + source).split()[-1]
    assert float(last) == pytest.approx(factor, rel=1e-5)
