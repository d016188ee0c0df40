"""Kubernetes for the tests: a real API server where there is one, and a double with faults.

`controlplane` starts the real components, and `assets` finds or builds them. `prepared` starts a
control plane that has CRDs; `shared` is the one that all workers of a run share. `cluster` is the
interface for tests, and `fixtures` are their fixtures. `double` is an API server whose faults are
scripted. One list of tests, `test_truth`, runs on both.
"""
