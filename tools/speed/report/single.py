"""RESULTS.md: one process beside its peers; also the quick suite."""

from .collectives import collectives_section
from .epochs import FIGURE, draw, epochs_table
from .overlap import overlap_section
from .steps import ratios_table, same_work, steps_table
from .tables import method


def write(results, notes, num_rounds, out):
    """Write all tables to `out` and, after a full run, a figure beside it."""
    full = any(task == 'epoch' for _, _, task in results)
    command = 'make bench' if full else 'make bench SUITE=quick'
    parts = [
        '# Speed, compared with other implementations',
        *notes,
        method(num_rounds, command),
        steps_table(results),
        ratios_table(results),
    ]
    if full:
        draw(results, out.with_name('results.png'))
        parts += [epochs_table(results), FIGURE]
    parts.append(collectives_section(results))
    if full:
        parts.append(overlap_section(results))
    parts.append(same_work(results))
    out.write_text('\n\n'.join(parts) + '\n')
