"""What a student writes or shows, on the pages of feedback and Formgrader."""

import pytest

pytest.importorskip('nbgrader', reason='make grading')
import course  # noqa: E402
from bs4 import BeautifulSoup  # noqa: E402
from nbconvert import HTMLExporter  # noqa: E402
from nbformat.v4 import new_code_cell, new_markdown_cell  # noqa: E402
from nbgrader.server_extensions.formgrader.formgrader import (  # noqa: E402
    FormgradeExtension,
)

from tools.grading.clean import clean  # noqa: E402

EVIL = (
    '<script>evil()</script><img src="x" onerror="evil()">'
    '<a href="javascript:evil()">a</a><iframe srcdoc="evil()"></iframe>'
    '<svg onload="evil()"></svg><form action="evil()"><input></form>'
    '<p style="background: url(evil())">b</p>'
)
TEXT = """## My answer

If $a < b$, see **this** & that:

> quoted

```python
if x < 3: pass
```

| n | seconds |
|---|--------:|
| one | 2.5 |

![mine](attachment:mine.png)
"""
TABLE = '<table class="t"><thead><tr><th>n</th></tr></thead></table>'
SHOWS = f"""from IPython.display import HTML, Javascript, Markdown, display
display(HTML({EVIL!r}), Markdown({EVIL!r}), Javascript('evil()'))
display(HTML({TABLE!r}), Markdown('*seen* < 1'))
picture = {{'image/png': 'iVBORw0KGgo='}}
for width in (30, '40 onload=evil()'):
    display(picture, raw=True, metadata={{'image/png': {{'width': width}}}})
from matplotlib import pyplot
pyplot.plot([1, 2])
"""


@pytest.fixture(scope='module')
def pages(released, tmp_path_factory):
    """Return the pages of a student, of feedback and of Formgrader."""
    folder = tmp_path_factory.mktemp('clean') / 'course'
    course.new_course(released, folder)
    notebook = course.answered(folder, course.solutions())
    text = new_markdown_cell(TEXT)
    text['attachments'] = {'mine.png': {'image/png': 'iVBORw0KGgo='}}
    answer = next(
        cell
        for cell in notebook.cells
        if cell.cell_type == 'markdown' and 'nbgrader' in cell.metadata
    )
    answer.source = f'My answer. {EVIL}'
    notebook.cells += [text, new_markdown_cell(EVIL), new_code_cell(SHOWS)]
    course.submit(folder, 'eve', notebook)
    course.nbgrader(folder, 'autograde', course.CHAPTER)
    course.nbgrader(folder, 'generate_feedback', course.CHAPTER)
    (feedback,) = (folder / 'feedback').rglob('*.html')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv('JUPYTER_CONFIG_DIR', str(folder / 'no-config'))
        app = FormgradeExtension()
        app.initialize([])
    (graded,) = (folder / 'autograded').rglob('*.ipynb')
    shown, _ = HTMLExporter(config=app.config).from_filename(
        str(graded), resources={'index': 0, 'total': 1}
    )
    assert 'scoring-buttons' in shown
    return {'feedback': feedback.read_text(), 'formgrader': shown}


@pytest.mark.parametrize('name', ['feedback', 'formgrader'])
def test_nothing_of_a_student_runs(name, pages):
    page = BeautifulSoup(pages[name], 'html.parser')
    assert 'evil()' in page.get_text()
    assert not [one for one in page('script') if 'evil' in str(one)]
    for tag in page.find(id='notebook').find_all(True):
        assert tag.name not in ('script', 'iframe', 'svg', 'form', 'style')
        assert 'evil(' not in str(tag.attrs), tag


@pytest.mark.parametrize('name', ['feedback', 'formgrader'])
def test_what_is_right_stays(name, pages):
    page = BeautifulSoup(pages[name], 'html.parser')
    texts = {
        kind: [one.get_text(' ', strip=True) for one in page(kind)]
        for kind in ('h2', 'blockquote', 'th', 'td', 'pre', 'em', 'strong')
    }
    assert 'My answer ¶' in texts['h2'] and 'quoted' in texts['blockquote']
    assert {'n', 'seconds'} <= {*texts['th']} and '2.5' in texts['td']
    assert 'seen' in texts['em'] and 'this' in texts['strong']
    (code,) = (one for one in page('pre') if 'x < 3' in one.get_text())
    assert code.find('span', class_='k') and '&amp;lt;' not in str(code)
    assert 'If $a < b$' in page.get_text()
    sources = [one['src'][:22] for one in page('img')]
    assert sources.count('data:image/png;base64,') == 5
    assert page.find('img', width='30')
    assert texts['pre'].count('Exercise 1: passed') == 1
    right = page.find('td', string='2.5')
    assert 'right' in right['style']
    assert page.find('table', class_='t').th.string == 'n'


def test_what_is_none_of_our_tags_is_shown_as_it_was_typed():
    assert clean('a <b>c</b> <script>x</script>') == (
        'a <b>c</b> &lt;script&gt;x&lt;/script&gt;'
    )
