"""The chapters for the browser have the packages and files that they need."""

import re

import nbformat

from tools.site import make_lite


def test_each_chapter_installs_our_packages_and_has_what_it_links_to(tmp_path):
    make_lite.write_contents(tmp_path)
    paths = sorted((tmp_path / 'notebooks').glob('*.ipynb'))
    assert [path.name[:2] for path in paths] == ['01', '02', '03', '04', '05']
    for path in paths:
        chapter = nbformat.read(path, as_version=4)
        nbformat.validate(chapter)
        code = [c.source for c in chapter.cells if c.cell_type == 'code']
        assert code[0] == make_lite.INSTALL
        for cell in chapter.cells:
            assert not cell.get('outputs')
            for long in cell.metadata.get('small', ()):
                assert long not in cell.source
        text = '\n'.join(
            c.source for c in chapter.cells if c.cell_type == 'markdown'
        )
        for link in re.findall(r'\]\((\.\./[^)#]+)', text):
            assert (path.parent / link).exists(), link
