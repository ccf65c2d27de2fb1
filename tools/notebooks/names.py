"""The names that the code of a cell defines and uses, and the lines of its
statements."""

import functools
import symtable

from .cells import plain


@functools.lru_cache(maxsize=1000)
def names_in(source):
    """Return the names that a cell leaves behind, and others that it uses.

    A cell that is not Python leaves and uses none.
    """
    try:
        tables = [symtable.symtable(plain(source), 'cell', 'exec')]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(), frozenset()
    left = frozenset(
        symbol.get_name()
        for symbol in tables[0].get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    )
    used = set()
    for table in tables:  # of functions in it, too
        tables += table.get_children()
        used |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_global() and symbol.is_referenced()
        }
    return left, frozenset(used - left)


def needed_for(sources, others, given=frozenset()):
    """Return those of `others`, in order, whose names `sources` use,
    directly or not. `given`: names that are there without them."""
    kept, before = [], None
    while len(kept) != before:
        before = len(kept)
        used = set().union(*(names_in(s)[1] for s in [*sources, *kept]))
        used -= given
        kept = [other for other in others if names_in(other)[0] & used]
    return kept


def first_line(node):
    """Return the first line of a statement, with what decorates it."""
    decorators = getattr(node, 'decorator_list', [])
    return min(part.lineno for part in [*decorators, node])
