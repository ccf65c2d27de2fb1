"""Tables and figures of what was measured: one file per set of tables.

`results` is always {(name, devices, task): [result of each round, ...]}.
"""
