"""What README shows is what its example prints."""

import contextlib
import io
import pathlib
import re

README = pathlib.Path(__file__).parents[1] / 'README.md'
START = '# arrays.py'
BLOCKS = re.findall(
    r'```(?:python)?\n(.*?)```', README.read_text('utf-8'), re.S
)


def printed_by(source):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source, {})
    return out.getvalue()


def test_the_example_prints_what_stands_below_it():
    at = next(i for i, block in enumerate(BLOCKS) if START in block)
    # The spread is the processor's, and lines are short on the page.
    found, shown = [
        re.sub(r'[\d.]+e\+\d+', '…', ' '.join(text.split()))
        for text in (printed_by(BLOCKS[at]), BLOCKS[at + 1])
    ]
    assert found == shown


def test_the_fix_in_the_text_is_one():
    source = next(block for block in BLOCKS if START in block)
    wrong = '(one + two) / 2]'
    fix = '(m * one + (len(X) - m) * two) / len(X)'
    assert wrong in source and f'`{fix}`' in README.read_text('utf-8')
    fixed = source.replace(wrong, f'{fix}]')
    assert printed_by(fixed) == 'equal up to rounding\n'
