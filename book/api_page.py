"""List on the page `api` what `d2lmulti.__all__` names, and nothing else."""

import importlib
import inspect
import pathlib
import re

import d2lmulti


def add_public_names(app, docname, source):
    """Append the public names, below a heading for each module."""
    if docname != 'api':
        return
    app.env.note_dependency(d2lmulti.__file__)
    source[0] += f'\n\n{summary_table()}\n'
    modules = {}
    for name in d2lmulti.__all__:
        modules.setdefault(module_of(name), []).append(name)
    for module, names in modules.items():
        app.env.note_dependency(module.__file__)
        source[0] += '\n'.join(
            [
                f'\n## `{module.__name__}`\n',
                f'{origin_of(module)}\n',
                '```{eval-rst}',
                *map(directive_of, names),
                '```\n',
            ]
        )


def module_of(name):
    """Return the module of a public name, or the package around it."""
    path = getattr(d2lmulti, name).__module__
    package = importlib.import_module(path.rpartition('.')[0])
    if package is not d2lmulti and hasattr(package, name):
        return package
    return importlib.import_module(path)


def origin_of(module):
    """Return the line that says what a module is."""
    head = pathlib.Path(module.__file__).read_text()[:200]
    notebook = re.search(r'File to edit: .*/(\w+)\.ipynb', head)
    if notebook:
        return f'From chapter {{doc}}`notebooks/{notebook[1]}`'
    return inspect.getdoc(module).split('\n')[0]


def summary_table():
    """Return a table of all names, each with its docstring's first line."""
    rows = ['| name | what it does |', '|---|---|']
    for name in d2lmulti.__all__:
        text = inspect.getdoc(getattr(d2lmulti, name))
        line = ' '.join(text.split('\n\n')[0].split())
        line = re.split(r'(?<=[^.]\.) (?=[A-Z])', line)[0].replace('|', r'\|')
        rows.append(f'| {{py:obj}}`{name} <d2lmulti.{name}>` | {line} |')
    return '\n'.join(rows)


def directive_of(name):
    """Return what makes autodoc show a name's signature and docstring."""
    kind = 'class' if inspect.isclass(getattr(d2lmulti, name)) else 'function'
    return f'.. auto{kind}:: d2lmulti.{name}\n'


def setup(app):
    """Be an extension of Sphinx."""
    app.connect('source-read', add_public_names)
    return {'parallel_read_safe': True}
