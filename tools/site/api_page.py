"""List on the page `api` what `__all__` of our packages names, and nothing
else."""

import importlib
import inspect
import pathlib
import re

import d2lmulti
import samestep

PACKAGES = d2lmulti, samestep

# What people call, before all else; numbers come last.
FIRST = (
    *('train', 'train_batch', 'allreduce', 'get_params', 'split_and_load'),
    *('try_devices', 'init_params', 'find_causes'),
)


def rank(name):
    """Return what to sort the names of d2lmulti by."""
    if name in FIRST:
        return FIRST.index(name)
    return len(FIRST) + (not callable(getattr(d2lmulti, name)))


PUBLIC = [(d2lmulti, name) for name in sorted(d2lmulti.__all__, key=rank)]
PUBLIC += [(samestep, name) for name in samestep.__all__]


def add_public_names(app, docname, source):
    """Append the public names, below a heading for each module."""
    if docname != 'api':
        return
    for package in PACKAGES:
        app.env.note_dependency(package.__file__)
    source[0] += f'\n\n{summary_table()}\n'
    modules = {}
    for package, name in PUBLIC:
        module = module_of(package, name)
        modules.setdefault(module, []).append((package, name))
    for module, names in sorted(modules.items(), key=place_of):
        app.env.note_dependency(module.__file__)
        source[0] += '\n'.join(
            [
                f'\n## `{module.__name__}`\n',
                f'{origin_of(module)}\n',
                '```{eval-rst}',
                *(directive_of(*name) for name in names),
                '```\n',
            ]
        )


def module_of(package, name):
    """Return the module of a public name, or the package around it."""
    thing = getattr(package, name)
    if not callable(thing):  # a number does not know where it is defined
        modules = [
            importlib.import_module(f'd2lmulti.{module}')
            for module in d2lmulti.MODULES
        ]
        return next(module for module in modules if name in module.__all__)
    around = importlib.import_module(
        thing.__module__.rpartition('.')[0] or thing.__module__
    )
    if around is not d2lmulti and hasattr(around, name):
        return around
    return importlib.import_module(thing.__module__)


def place_of(item):
    """Return what to sort by: the package, then chapters by their numbers."""
    module, ((package, _), *_) = item
    return PACKAGES.index(package), notebook_of(module) or 'a part by hand'


def notebook_of(module):
    """Return the stem of the notebook that exports a module, or None."""
    head = pathlib.Path(module.__file__).read_text()[:200]
    match = re.search(r'File to edit: .*/(\w+)\.ipynb', head)
    return match and match[1]


def origin_of(module):
    """Return the words that say what a module is."""
    notebook = notebook_of(module)
    if notebook:
        return f'From chapter {{doc}}`notebooks/{notebook}`'
    return ' '.join(inspect.getdoc(module).split('\n\n')[0].split())


def summary_table():
    """Return a table of all names, each with its docstring's first line."""
    rows = ['| name | what it does |', '|---|---|']
    for package, name in PUBLIC:
        thing = getattr(package, name)
        text = (
            inspect.getdoc(thing) if callable(thing) else f'the number {thing}'
        )
        line = ' '.join(text.split('\n\n')[0].split())
        line = re.split(r'(?<=[^.A-Z]\.) (?=[A-Z])', line)[0].replace(
            '|', r'\|'
        )
        rows.append(
            f'| {{py:obj}}`{name} <{package.__name__}.{name}>` | {line} |'
        )
    return '\n'.join(rows)


def directive_of(package, name):
    """Return what makes autodoc show a name's signature and docstring."""
    thing = getattr(package, name)
    kind = 'function' if callable(thing) else 'data'
    kind = 'class' if inspect.isclass(thing) else kind
    return f'.. auto{kind}:: {package.__name__}.{name}\n'


def leave_out_types(app, what, name, thing, options, lines):
    """A number has no docstring; autodoc takes that of its type."""
    if what == 'data':
        lines.clear()


def setup(app):
    """Be an extension of Sphinx."""
    app.connect('autodoc-process-docstring', leave_out_types)
    app.connect('source-read', add_public_names)
    return {'parallel_read_safe': True}
