"""Kubernetes for the tests: a real API server where there is one, and a double that can be broken.

`controlplane` starts the real parts, `assets` finds or builds them, `prepared` starts one that has
CRDs, `shared` is the one that all workers of a run share, `cluster` is how tests see one,
`fixtures` how they ask for it. `double` is an API server whose faults are scripted. One list of
tests, `test_truth`, runs on both.
"""
