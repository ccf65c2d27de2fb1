"""Answers in words, marked by hand; similar answers; the student's page."""

import csv
import dataclasses
import json
import os
import pathlib
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from chapters.exercises import Chapter, Exercise, read_chapters
from grading import similar, texts
from grading.gradebook import write_gradebook
from grading.grading import Result
from grading.pages import write_report
from grading.submissions import File
from grading.texts import Text, find_text, merge, read_texts, write_texts

ROOT = pathlib.Path(__file__).parents[2]
QUESTION = '**4. To think about.** Why can `a + b` return early?'
SOLUTION = '''# Our solution
def first_words(lines, stop):
    """Return the first words."""
    found = []
    for line in lines:
        word = line.split()[0].lower()
        if word not in stop:
            found.append(word)
    return found

check_1()'''
CHAPTER = Chapter(
    '02_network',
    [],
    [Exercise('network-exercise-1', 2, 'f', '', '', SOLUTION)],
    ['x = 1'],
    ['# A chapter', QUESTION, 'Below it.'],
    QUESTION,
    '4',
    'Because it only queues the work.',
)
HERS = 'Only the *call* returns.\n\n=1+1 <b>'


def notebook(*cells):
    """Return a notebook that has the chapter's question and more cells."""
    return new_notebook(cells=[new_code_cell('x = 1'), *cells])


def answer(text):
    """Return the cell of the student edition."""
    cell = new_markdown_cell(text)
    cell.metadata.tags = ['answer']
    return cell


QUESTION_CELL = new_markdown_cell(QUESTION)
PLACES = {  # where an answer stands
    'in its cell': [QUESTION_CELL, answer(HERS)],
    'below the placeholder': [
        QUESTION_CELL,
        answer(f'*Write your answer here.*\n\n{HERS}'),
    ],
    'in a new cell': [QUESTION_CELL, new_markdown_cell(HERS)],
    'beside the placeholder': [
        QUESTION_CELL,
        answer('*Write your answer here.*'),
        new_markdown_cell(HERS),
        new_markdown_cell('Below it.'),
    ],
    'in the cell of the question': [
        new_markdown_cell(f'{QUESTION}\n\n{HERS}'),
    ],
    'in a raw cell': [QUESTION_CELL, nbformat.v4.new_raw_cell(HERS)],
    'in a cell for code': [QUESTION_CELL, new_code_cell(HERS)],
    'without the question': [answer(HERS)],
}


@pytest.mark.parametrize('place', PLACES)
def test_an_answer_in_words_is_found_wherever_it_stands(place):
    assert find_text(notebook(*PLACES[place]), CHAPTER) == HERS


@pytest.mark.parametrize(
    'cells',
    [
        [],
        [QUESTION_CELL],
        [QUESTION_CELL, answer('*Write your answer here.*')],
        [QUESTION_CELL, answer(' '), new_code_cell('def f():\n    x +')],
        [QUESTION_CELL, new_markdown_cell(CHAPTER.our_answer)],
        [new_markdown_cell('notes of mine'), QUESTION_CELL],
    ],
)
def test_no_answer_in_words_is_none(cells):
    assert find_text(notebook(*cells), CHAPTER) == ''


def test_every_chapter_has_a_question_and_our_answer():
    chapters = read_chapters(ROOT / 'notebooks')
    for chapter in chapters:
        assert 'To think about' in chapter.question and chapter.our_answer
        assert '<' not in chapter.our_answer[:1]
        name = f'{chapter.stem}.ipynb'
        ours = nbformat.read(ROOT / 'notebooks' / name, 4)
        assert find_text(ours, chapter) == '', chapter.stem
    ids = [chapter.question_id for chapter in chapters]
    assert len({*ids}) == len(ids)
    assert ids[0] == 'devices-exercise-4'


def of(student, text):
    """Return a graded file with an answer in words."""
    return File(student, 'x', chapter='02_network', text=text)


def run_once(folder, files, each=1, keep=False):
    """Read what was written by hand, and write it with new answers."""
    earlier = read_texts(folder, [CHAPTER], each)
    found = merge(earlier, files, [CHAPTER], each, keep)
    return found, write_texts(found, [CHAPTER], folder)


def edit(path, student, points, comment, name=None):
    """Do what a person does in a spreadsheet."""
    with open(path, newline='') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row['student'] == student:
            row.update(points=points, comment=comment)
    new = path.with_name(name or path.name)
    with open(new, 'w', newline='') as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    later = path.stat().st_mtime + 5
    os.utime(new, (later, later))


def test_what_a_person_wrote_is_kept(tmp_path):
    run_once(tmp_path, [of('ann', HERS), of('bo', 'No.')])
    edit(tmp_path / 'network.csv', 'ann', '0,5', '-half; "why?"\nand when')
    for _ in range(2):
        found, pages = run_once(tmp_path, [of('ann', HERS), of('bo', 'No.')])
        ann, bo = found['02_network']
        assert (ann.points, ann.comment) == (0.5, '-half; "why?"\nand when')
        assert (ann.text, ann.before) == (HERS, None)
        assert (bo.points, bo.comment) == (None, '')
        assert pages == [('answers to network-exercise-4', 'network.html')]


def test_of_a_week_without_a_student_the_points_are_kept(tmp_path):
    run_once(tmp_path, [of('ann', HERS), of('bo', 'No.')])
    edit(tmp_path / 'network.csv', 'ann', '1', '')
    found, _ = run_once(tmp_path, [], keep=True)
    assert [t.student for t in found['02_network']] == ['ann', 'bo']
    found, _ = run_once(tmp_path, [])
    assert [t.student for t in found['02_network']] == ['ann']


def test_points_for_another_answer_are_marked(tmp_path):
    run_once(tmp_path, [of('ann', HERS)])
    edit(tmp_path / 'network.csv', 'ann', '1', '')
    for _ in range(2):  # until a person saves the page
        (ann,) = run_once(tmp_path, [of('ann', 'New.')])[0]['02_network']
        assert (ann.text, ann.points, ann.before) == ('New.', 1, HERS)
    assert 'for an earlier answer' in (tmp_path / 'network.html').read_text()


def test_the_newest_download_counts(tmp_path):
    run_once(tmp_path, [of('ann', HERS)])
    path = tmp_path / 'network.csv'
    edit(path, 'ann', '1', 'good', 'network (1).csv')
    (ann,) = run_once(tmp_path, [of('ann', HERS)])[0]['02_network']
    assert (ann.points, ann.comment) == (1, 'good')


@pytest.mark.parametrize('points', ['good', '2', '-1', 'nan'])
def test_points_that_cannot_be_say_where(points, tmp_path):
    run_once(tmp_path, [of('ann', HERS)])
    edit(tmp_path / 'network.csv', 'ann', points, '')
    with pytest.raises(ValueError, match='ann: points .* from 0 to 1'):
        run_once(tmp_path, [of('ann', HERS)])


def test_a_crash_while_writing_loses_no_points(tmp_path, monkeypatch):
    run_once(tmp_path, [of('ann', HERS)])
    edit(tmp_path / 'network.csv', 'ann', '1', 'good')

    def full(text):
        raise OSError('disk full')

    monkeypatch.setattr(texts, 'as_cell', full)
    found = {'02_network': [Text('ann', 'network-exercise-4', HERS)]}
    with pytest.raises(OSError):
        texts.write_marks(found['02_network'], tmp_path / 'network.csv')
    monkeypatch.undo()
    ann = read_texts(tmp_path, [CHAPTER], 1)['02_network']['ann']
    assert (ann.points, ann.comment) == (1, 'good')


def test_a_question_counts_for_all_once_anyone_has_points(tmp_path):
    done = Result('ann', 'x', '02_network', 'e', 2, 'passed')
    ann = Text('ann', 'network-exercise-4', HERS)
    for points, rows in {
        None: [['ann', '2', '2']],
        0.5: [['ann', '2.5', '3']],
    }.items():
        ann.points = points
        path = tmp_path / 'book.csv'
        write_gradebook([done], [CHAPTER], {}, path, {'02_network': [ann]})
        with open(path, newline='') as file:
            found = [
                [r['student'], r['points'], r['of']]
                for r in csv.DictReader(file)
            ]
        assert found == rows


def test_the_page_saves_what_the_next_run_reads(tmp_path, browser):
    from browsing import Visit, serious_violations  # Python 3.11 alone

    run_once(tmp_path, [of('=ann', HERS), of('bo', '</script>"x"')])
    address = f'file://{tmp_path}/network.html'
    with Visit(browser, address, accept_downloads=True) as visit:
        page = visit.page
        assert not serious_violations(page)
        page.locator('.points').nth(0).fill('3')
        page.click('#save')
        assert 'from 0 to 1' in page.inner_text('#state')
        page.locator('.points').nth(0).fill('0.5')
        page.locator('.comment').nth(1).fill('-no, "why"\n=1')
        assert page.inner_text('#state') == 'not saved yet'
        with page.expect_download() as download:
            page.click('#save')
        assert download.value.suggested_filename == 'network.csv'
        download.value.save_as(tmp_path / 'network.csv')
        assert not visit.errors and not visit.foreign
    files = [of('=ann', HERS), of('bo', '</script>"x"')]
    ann, bo = run_once(tmp_path, files)[0]['02_network']
    assert (ann.points, ann.comment, ann.before) == (0.5, '', None)
    assert (bo.points, bo.comment) == (None, '-no, "why"\n=1')
    assert bo.before is None


COPY = SOLUTION.replace('# Our solution\n', '').replace('\n\ncheck_1()', '')
RENAMED = (
    COPY.replace('found', 'result')
    .replace('word', 'w')
    .replace('lines, stop', 'lines: list, stop: set')
    .replace('"""Return the first words."""', '# mine')
)
OTHER = """def first_words(lines, stop):
    words = (line.strip().partition(' ')[0].lower() for line in lines)
    # filter keeps what is not in stop
    return list(filter(lambda word: word not in stop, words))"""
NEARLY = OTHER.replace("partition(' ')", 'split()')


def results(**sources):
    """Return a result of each student."""
    return [
        Result(
            student,
            'x',
            '02_network',
            'network-exercise-1',
            2,
            'passed',
            sources=[source],
        )
        for student, source in sources.items()
    ]


def groups_of(**sources):
    """Return the groups of similar answers, and who has our solution."""
    return similar.find_groups(
        results(**sources), similar.solutions_of([CHAPTER])
    )


def test_names_comments_and_annotations_hide_no_copy():
    groups, identical = groups_of(ann=COPY, bo=RENAMED, cy=OTHER)
    (one,) = groups
    assert one['students'] == ['ann', 'bo'] and one['least'] == 1
    assert not one['verbatim']
    assert identical[0]['students'] == ['ann', 'bo']


def test_what_is_alike_and_not_ours_comes_first():
    groups, identical = groups_of(
        ann=COPY, bo=RENAMED, cy=OTHER, di=NEARLY, eve=OTHER
    )
    assert [g['students'] for g in groups][1] == ['ann', 'bo']
    assert {*groups[0]['students']} == {'cy', 'di', 'eve'}
    assert groups[0]['verbatim'] == ['cy', 'eve']
    assert similar.THRESHOLD <= groups[0]['least'] < 1
    assert groups[0]['ours'] < similar.THRESHOLD < groups[1]['ours']


def test_different_and_short_answers_are_in_no_group():
    short = 'def first_words(a, b):\n    return a'
    assert groups_of(ann=COPY, bo=OTHER) == ([], groups_of(ann=COPY)[1])
    assert groups_of(ann=short, bo=short) == ([], [])


def test_what_is_no_python_is_compared_by_its_words():
    broken = COPY + '\nreturn ((' + ' x' * 30
    groups, _ = groups_of(ann=broken, bo=broken.replace('\n', '\n\n'))
    assert groups[0]['students'] == ['ann', 'bo']


def test_the_page_of_similar_answers_says_the_threshold(tmp_path):
    page = tmp_path / 'similar.html'
    found = results(ann=OTHER + '\n# <script>', bo=NEARLY, cy=COPY)
    assert similar.write_similar(found, [CHAPTER], page) == 1
    text = page.read_text()
    assert '90 % or more' in text and '<script>' not in text
    assert re.search(r'network-exercise-1: ann, bo', text)
    assert re.search(r'<td>network-exercise-1<td class="number">\d+\n', text)


def test_the_students_page_has_the_sources_and_the_comments(tmp_path):
    (ann,) = results(ann='# <b>\n' + OTHER)
    ann.late, ann.counts = '2 h', 0.5
    said = Text('ann', 'network-exercise-4', HERS, 0.5, 'Think of <engine>.')
    write_report([ann], tmp_path, '', [said])
    (page,) = (tmp_path / 'students').iterdir()
    text = page.read_text()
    assert '1.5 of 3 points' in text and 'late: 2 h' in text
    assert '# &lt;b&gt;' in text and 'filter keeps' in text
    assert 'Think of &lt;engine&gt;.' in text and 'Only the *call*' in text
    rows = (tmp_path / 'grades.csv').read_text()
    assert 'filter' not in rows and 'sources' not in rows


def test_results_with_sources_are_saved_for_the_next_week(tmp_path):
    from grading.gradebook import with_earlier

    (ann,) = results(ann=COPY)
    path = tmp_path / 'results.json'
    assert with_earlier([ann], path, False) == ([ann], [])
    assert with_earlier([], path, True) == ([ann], [])
    assert json.loads(path.read_text())[0]['sources'] == [COPY]
    assert dataclasses.asdict(ann)['sources'] == [COPY]
