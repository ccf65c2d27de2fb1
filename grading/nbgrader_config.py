"""For nbgrader: the stubs of this book are released as they are.

ClearSolutions is left out of its list. It would replace each stub, its
docstring and hint included, by 'YOUR CODE HERE'; there is no solution in it.
"""

from nbgrader import preprocessors as p

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = 'd2lmulti'
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
c.Execute.timeout = 300  # seconds for a cell
