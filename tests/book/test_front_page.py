"""The front page follows what was printed."""

import types

import pytest

pytest.importorskip('pybtex', reason='the book needs Python 3.11')

from book.front_page import outdated, printed


def site(folder):
    return types.SimpleNamespace(
        config=types.SimpleNamespace(printed_folder=str(folder)),
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
