"""MASKED_WORDS.md: chapter 14's task, trained longer."""

from ..peers import OURS
from ..tasks.masked_words import NUM_EPOCHS, PEAK
from .tables import spread, table

SEEDS = range(3)
ROWS = {
    'with': 'the network',
    'without': 'without attention',
    'frequency': 'each word by its frequency',
}


def write(results, notes, num_rounds, out):
    """Write the table to `out`."""
    seeds = results.get((OURS, 1, 'masked_words'), [])
    if not seeds:
        raise SystemExit('no seed has ended: ' + ' '.join(notes))
    gains = [seed['without'] - seed['with'] for seed in seeds]
    parts = [
        '# Masked words',
        *notes,
        'Written by `make bench SUITE=masked_words`: chapter 14 has the '
        f'network and the text; {NUM_EPOCHS} epochs of Adam with a rate up to '
        f'{PEAK}, for {len(seeds)} seeds. The loss is per held-out word that '
        'is really hidden. A number is the median over the seeds, with the '
        'smallest and the largest in brackets. Nothing here is a time, so a '
        'busy machine does not change the results.',
        table(
            ['', 'loss'],
            [
                [words, spread([seed[name] for seed in seeds], '{:.2f}')]
                for name, words in ROWS.items()
            ],
        ),
        'What attention gains, for the same seed: '
        f'{spread(gains, "{:.2f}")}, above 0 for '
        f'{sum(gain > 0 for gain in gains)} of {len(seeds)} seeds.',
    ]
    out.write_text('\n\n'.join(parts) + '\n')
