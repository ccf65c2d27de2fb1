"""What `d2lmulti` and `d2ldoctor` both need of a machine; imports neither.

Integers and words for messages, whole files, the console, MXNet's variables,
and what lets MXNet start: CUDA's libraries, arm64's BLAS, newer Pythons.
"""
