"""Kubernetes for the tests: a real API server where there is one, and a double that can be broken.

`running` starts the real parts, `assets` finds or builds them, `shared` is the control plane that
all workers of a run share, `double` is the one whose faults are scripted. One list of tests,
`test_truth`, runs on both.
"""
