"""Print what is wrong with texts and notebooks; `make lint` calls it."""

import sys

from tools.lint import (
    expectations,
    generated,
    notebooks,
    numbers,
    pages,
    teaching,
    words,
)

RULES = words, pages, notebooks, numbers, expectations, teaching, generated


def main():
    """Print all findings; return how many there are."""
    findings = [finding for rule in RULES for finding in rule.check()]
    for finding in findings:
        print(finding)
    if not findings:
        print('Nothing found in texts and notebooks')
    return len(findings)


if __name__ == '__main__':
    sys.exit(bool(main()))
