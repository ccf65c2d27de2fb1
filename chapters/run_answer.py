"""The process of one answer, for `chapters.check`: cells as in a notebook.

It reads job.json in its folder, and writes result.json; `begun` is there as
soon as the chapter's own cells have run.
"""

import json
import pathlib

from IPython.core.interactiveshell import InteractiveShell


class Shell(InteractiveShell):
    """Runs cells; what `%matplotlib` asks for shows nothing."""

    def enable_gui(self, gui=None):
        """Do nothing."""


def judge(job):
    """Return (verdict, message): of the chapter's own cells if they fail, else
    of the answer and its check."""
    shell = Shell.instance()
    for verdict, sources in (
        ('failed', job['before']),
        ('wrong', job['answer']),
    ):
        if verdict == 'wrong':
            pathlib.Path('begun').touch()
        for source in sources:
            done = shell.run_cell(source, silent=True)
            error = done.error_before_exec or done.error_in_exec
            if error:
                return verdict, explain(error)
    return 'passed', ''


def explain(error):
    """Return what an error says, on one line."""
    text, kind = ' '.join(str(error).split()), type(error).__name__
    if kind in ('AssertionError', 'NotImplementedError') and text:
        return text
    return f'{kind}: {text}'


if __name__ == '__main__':
    job = json.loads(pathlib.Path('job.json').read_text())
    result = pathlib.Path('result.json').absolute()  # an answer may move
    result.write_text(json.dumps(judge(job)))
