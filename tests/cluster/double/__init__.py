"""An API server in the test's own process, whose faults are scripted.

`server.Double` is what tests start; `store` is its history and `faults` its script.
`tests/cluster/test_truth.py` compares its behaviour without a script with a real API server. It
knows no schemas, no admission and no owner references: these are tested on the real one.
"""
