"""The scripts of the book's pages print what the pages say."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]
PRINTED = re.compile(
    r'```python\n# (\w+\.py)\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```',
    re.DOTALL,
)
SCRIPTS = [
    pytest.param(script, printed, id=name)
    for page in ('rounding', 'determinism')
    for name, script, printed in PRINTED.findall(
        (ROOT / f'tools/site/{page}.md').read_text()
    )
]


@pytest.mark.parametrize(('script', 'printed'), SCRIPTS)
def test_a_script_prints_what_its_page_says(script, printed, capsys):
    exec(compile(script, 'script.py', 'exec'), {'__name__': 'script'})
    assert capsys.readouterr().out == printed
