"""What can be seen of texts and notebooks without running them.

`make lint` runs it beside ruff, codespell and mypy. Each module has rules:
functions that take what they look at and yield findings.
"""
