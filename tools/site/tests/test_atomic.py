"""What is printed or copied is whole, or stays what it was."""

import pathlib
import runpy
import shutil
import sys
from unittest import mock

import pytest

if sys.version_info < (3, 11):
    pytest.skip(
        'the book needs Python 3.11, as Sphinx 9 does', allow_module_level=True
    )

import nbconvert
import pikepdf
import playwright.sync_api

from tools.notebooks.atomic import atomically


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


def play_chromium(monkeypatch, passes):
    """Let Chromium print an empty page in each pass, and be interrupted at
    the end of the last."""

    def print_page(path, **options):
        with pikepdf.new() as pdf:
            pdf.add_blank_page()
            pdf.Root.Dests = pikepdf.Dictionary()
            pdf.save(path)
        printed.append(path)
        if len(printed) == passes:
            interrupt()

    printed, chromium = [], mock.MagicMock()
    browser = chromium.return_value.__enter__.return_value.chromium.launch
    browser.return_value.new_page.return_value.pdf = print_page
    monkeypatch.setattr(playwright.sync_api, 'sync_playwright', chromium)
    monkeypatch.setattr(shutil, 'which', lambda name: name)


def interrupt_second_chapter(monkeypatch):
    export = mock.Mock(side_effect=[('a chapter', None), KeyboardInterrupt])
    exporter = nbconvert.SlidesExporter
    monkeypatch.setattr(exporter, 'from_notebook_node', export)


def interrupt_zip(monkeypatch):
    def write_half(folder, *args):
        pathlib.Path(f'{folder}.zip').write_text('half')
        interrupt()

    monkeypatch.setattr(shutil, 'make_archive', write_half)


@pytest.mark.parametrize('old', ['nothing', 'a file', 'a folder'])
@pytest.mark.parametrize(
    'script, before, name, set_trap',
    [
        (
            'tools.site.make_pdf',
            ['x'],
            'book.pdf',
            lambda m: play_chromium(m, 1),
        ),
        (
            'tools.site.make_pdf',
            ['x'],
            'book.pdf',
            lambda m: play_chromium(m, 2),
        ),
        (
            'tools.site.make_poster',
            [],
            'poster.pdf',
            lambda m: play_chromium(m, 1),
        ),
        ('tools.site.make_slides', [], 'slides', interrupt_second_chapter),
        ('tools.notebooks.student.__main__', [], 'student', interrupt_zip),
    ],
)
def test_what_is_interrupted_leaves_what_was_there(
    script, before, name, set_trap, old, monkeypatch, tmp_path
):
    target = tmp_path / name
    for path in (target, target.with_suffix('.zip')):
        if old == 'a folder' and path == target:
            path.mkdir()
            (path / 'index.html').write_text('old')
        elif old != 'nothing':
            path.write_text('old')
    found = contents(tmp_path)
    set_trap(monkeypatch)
    argv = [script, *before, str(target)]
    monkeypatch.setattr(sys, 'argv', argv)
    monkeypatch.delitem(sys.modules, script, raising=False)
    with pytest.raises(KeyboardInterrupt):
        runpy.run_module(script, run_name='__main__')
    assert contents(tmp_path) == found


def contents(folder):
    """Return {path: text} of all files below a folder."""
    return {
        path: path.is_file() and path.read_bytes()
        for path in folder.rglob('*')
    }


def test_what_is_not_interrupted_takes_the_place_of_what_was_there(tmp_path):
    for text in ('old', 'new'):
        with atomically(tmp_path / 'build/page.pdf') as page:
            page.write_text(text)
        with atomically(tmp_path / 'build/pages') as pages:
            pages.mkdir()
            (pages / text).write_text(text)
    assert contents(tmp_path / 'build') == {
        tmp_path / 'build/page.pdf': b'new',
        tmp_path / 'build/pages': False,
        tmp_path / 'build/pages/new': b'new',
    }
