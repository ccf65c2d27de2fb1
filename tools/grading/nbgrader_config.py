"""Settings of nbgrader for this book, which a course's own settings load."""

import os
import re
import sys
import warnings

from nbgrader import preprocessors as p
from sqlalchemy.exc import SAWarning

from tools.grading.collect import LmsCollector
from tools.grading.export import ColumnExporter
from tools.grading.judge import Judged
from tools.grading.restore import Restore
from tools.grading.unfinished import remove_unfinished

c = get_config()  # noqa: F821

warnings.simplefilter('ignore', SAWarning)  # of nbgrader's own code
# nbgrader calls alembic by its name.
os.environ['PATH'] = os.pathsep.join(
    [os.path.dirname(sys.executable), os.environ.get('PATH', '')]
)

c.CourseDirectory.course_id = 'd2lmulti'
# Without ClearSolutions, which would replace each stub, its docstring and hint
# included, by 'YOUR CODE HERE': there is no solution in it.
c.GenerateAssignment.preprocessors = [
    p.LockCells,
    p.ClearOutput,
    p.CheckCellMetadata,
    p.ComputeChecksums,
    p.SaveCells,
    p.ClearHiddenTests,
    p.ComputeChecksums,
    p.CheckCellMetadata,
]
c.Autograde.sanitize_preprocessors = [
    p.ClearOutput,
    p.DeduplicateIds,
    p.OverwriteKernelspec,
    Restore,
    p.OverwriteCells,
    p.CheckCellMetadata,
]
c.Autograde.autograde_preprocessors = [
    Judged,
    p.LimitOutput,
    p.SaveAutoGrades,
    p.AssignLatePenalties,
    p.CheckCellMetadata,
]
c.Judged.timeout = 300  # seconds for a cell
c.Judged.kernel_name = 'python3'  # whatever the student's editor calls it
c.GenerateFeedback.preprocessors = [
    p.GetGrades,
    p.ClearHiddenTests,
    'nbconvert.preprocessors.CSSHTMLHeaderPreprocessor',
]
# For Formgrader, too.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    'clean_html': 'tools.grading.clean.clean',
    'strip_files_prefix': 'tools.grading.clean.clean',  # of all Markdown
    'get_metadata': 'tools.grading.clean.clean_metadata',
}
c.ZipCollectApp.collector_plugin = LmsCollector
c.ExportApp.plugin_class = ColumnExporter

# What nbgrader says of each notebook, and is as it should be: a check has its
# hidden test again, a setting of pages is none of ClearHiddenTests, a figure
# has no other text, a file is left out, as we have said why.
NOISE = re.compile(
    "Attribute 'checksum' for|Config option `display_data_priority`|"
    'Alternative text is missing|Skipped submission with no match'
)


def is_wanted(record):
    """Return whether a message is no noise."""
    return not NOISE.match(record.getMessage())


def end(kind, error, trace):
    """Print an error; Ctrl-C is none, and nbgrader has said "Canceled"."""
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, error, trace)


c.NbGrader.logging_config = {
    'filters': {'noise': {'()': lambda: is_wanted}},
    'handlers': {'console': {'filters': ['noise']}},
}
sys.excepthook = end

if 'autograde' in sys.argv:
    remove_unfinished(os.getcwd())
