"""The names that the glossary gives for D2L are in its package."""

import importlib.util
import pathlib
import re

GLOSSARY = pathlib.Path(__file__).parents[3] / 'tools/site' / 'glossary.md'


def test_every_name_that_d2l_is_said_to_have_is_in_its_package():
    package = importlib.util.find_spec('d2l').origin
    source = pathlib.Path(package).with_name('mxnet.py').read_text()
    names = [
        name
        for line in GLOSSARY.read_text().splitlines()
        if line.startswith('| **')
        for part in re.findall(r'D2L: ([^;|]*)', line)
        if 'section' not in part and 'Gluon' not in part
        for name in re.findall(r'`(\w+)`', part)
    ]
    assert names
    for name in names:
        assert re.search(rf'\b{name}\b', source), name
