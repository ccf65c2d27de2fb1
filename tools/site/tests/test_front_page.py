"""The front page follows what was printed."""

import pathlib
import re
import types

import pytest

pytest.importorskip('pybtex', reason='the book needs Python 3.11')

from tools.site.front_page import (
    buttons,
    elsewhere,
    first_commands,
    outdated,
    printed,
    readme_found,
)


def site(folder, address=''):
    return types.SimpleNamespace(
        config=types.SimpleNamespace(
            printed_folder=str(folder),
            html_theme_options={'repository_url': address},
        ),
        builder=types.SimpleNamespace(format='html', name='html'),
        tags=types.SimpleNamespace(has=lambda tag: False),
    )


def test_it_is_written_again_when_something_was_printed_or_removed(tmp_path):
    app, env = site(tmp_path), types.SimpleNamespace()
    assert outdated(app, env, *[set()] * 3) == []  # a first build reads all
    assert outdated(app, env, *[set()] * 3) == []
    for name in ('book.pdf', 'poster.pdf'):
        (tmp_path / name).write_text('')
        assert outdated(app, env, *[set()] * 3) == ['index'], name
        assert outdated(app, env, *[set()] * 3) == []
    assert [*printed(app)] == ['PDF', 'Poster']
    (tmp_path / 'book.pdf').unlink()
    assert outdated(app, env, *[set()] * 3) == ['index']


def test_its_first_commands_are_those_of_readme_with_the_address():
    commands = first_commands({})
    readme = (pathlib.Path(__file__).parents[3] / 'README.md').read_text()
    assert commands.removeprefix('```bash').removesuffix('```') in readme
    address = 'https://github.com/someone/book'
    found = first_commands({'repository_url': address})
    assert found.split('\n')[1] == f'git clone {address} multi-gpu-book'
    assert found.split('\n')[2:] == commands.split('\n')[2:]


def test_a_part_of_readme_has_its_links_from_the_site():
    items = readme_found(r'^(- \*\*Begin(?:.*\n)*?)\n')
    assert '{doc}`Chapter 21 <notebooks/21_pytorch>`' in items
    assert '[glossary](glossary.md)' in items
    assert '](samestep/' not in items and '](numpy_mxnet/' not in items


def labels(line):
    return re.findall(r'<a href="[^"]+">([^<]+)</a>', line)


def test_the_buttons_are_three_and_all_other_forms_are_in_one_line(tmp_path):
    assert labels(buttons(site(tmp_path)))[1] == 'Try a figure'
    assert elsewhere(site(tmp_path)) == ''
    (tmp_path / 'lite').mkdir()
    (tmp_path / 'book.pdf').write_text('')
    app = site(tmp_path, 'https://github.com/someone/book')
    assert labels(buttons(app)) == [
        'Start reading',
        'Run in the browser',
        'Check your own step',
    ]
    assert labels(elsewhere(app)) == ['Colab', 'Codespaces', 'Binder', 'PDF']
