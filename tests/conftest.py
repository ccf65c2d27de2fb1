import d2lmulti  # noqa: F401  before any test imports MXNet
