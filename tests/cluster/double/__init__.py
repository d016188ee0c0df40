"""An API server in the test's own process that does the wrong things when it is told to.

`server.Double` is what tests start; `store` is its history and `faults` its script. What it does
when nothing is scripted is held to the real API server by `tests/cluster/test_truth.py`. It knows
no schemas, no admission, no ownership by references: tests of those are for the real one.
"""
