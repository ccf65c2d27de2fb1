"""The exam, with numbers that a course's secret draws.

`exam.md` has the questions. A comment after a question's number draws its
numbers, `n = draw(31, 25, 40)`: one between 25 and 40, and 31 without a
secret. `{n + 1}` in the text is computed from them.
"""

import pathlib
import random
import re

EXAM = pathlib.Path(__file__).with_name('exam.md')
QUESTION = re.compile(r'^(\d+)\. (?:<!-- (.*?) --> )?(.*)$', re.MULTILINE)
VALUE = re.compile(r'\{([^{}:]+)(?::([^{}]*))?\}')


def exam(secret=None):
    """Return the text of the exam with its answers."""

    def drawn(match):
        number, code, text = match.groups()
        names = {'draw': drawer(secret, number)}
        exec(code or '', names)
        return f'{number}. ' + VALUE.sub(
            lambda value: format(eval(value[1], names), value[2] or ''), text
        )

    return QUESTION.sub(drawn, EXAM.read_text(encoding='utf-8'))


def drawer(secret, number):
    """Return a function that draws the numbers of a question."""
    rng = random.Random(f'{secret} {number}')

    def draw(usual, least, most):
        """Return a number from `least` to `most`."""
        return usual if secret is None else rng.randint(least, most)

    return draw


def questions(text):
    """Return an exam without its answers."""
    asked = text.split('\n## ')[0]
    asked = asked.replace(', with answers', '').replace(
        'For instructors. ', ''
    )
    return re.sub(r'^(\d+\. \*\*.+?\*\*) .*$', r'\1', asked, flags=re.M)
