"""Examine the installation: `python -m d2ldoctor`."""
