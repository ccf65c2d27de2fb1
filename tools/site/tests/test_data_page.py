"""The page *The path of a minibatch* prints what it says."""

import contextlib
import io
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[3] / 'tools/site' / 'data.md'


def test_the_blocks_print_what_stands_below_them():
    blocks = re.findall(
        r'```python\n(.*?)```\n\n```text\n(.*?)```', PAGE.read_text(), re.S
    )
    assert len(blocks) == 5
    names = {}
    for code, wanted in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == wanted
