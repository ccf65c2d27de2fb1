"""Let no line end between a number and its unit, or before a number that
belongs to a word: '20 %', '3 GB', 'chapter 5', 'rank 0'."""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

UNIT = r'%|[mµn]?s|min|h|[kKMGT]i?B|Gbit|[GT]FLOP|million|billion'
NUMBERED = (
    'chapters?|exercises?|figures?|tables?|claims?|sections?|steps?|devices?|'
    'ranks?|workers?|stages?|fig[.]|ZeRO|Llama'
)
# A number at the end of a text may be the link that follows it.
SPACE = re.compile(
    rf'(?<=\d) (?=(?:{UNIT})(?!\w))|(\b(?i:{NUMBERED})) (?=\d|$)'
)
CODE = nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw


def without_breaks(text):
    """Return the text with spaces that keep together what belongs so."""
    return SPACE.sub(
        lambda found: (found[1] or '') + '\N{NO-BREAK SPACE}', text
    )


class KeepNumbers(SphinxPostTransform):
    """Put these spaces into all texts of a page but its code."""

    default_priority = 800  # before a term's meaning makes HTML of it

    def run(self, **kwargs):
        """Replace the texts."""
        for text in [*self.document.findall(nodes.Text)]:
            kept = without_breaks(text)
            if kept != text and not isinstance(text.parent, CODE):
                text.parent.replace(text, nodes.Text(kept))


def setup(app):
    """Be an extension of Sphinx."""
    app.add_post_transform(KeepNumbers)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
