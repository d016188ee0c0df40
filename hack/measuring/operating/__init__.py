"""The rows F62 to F75 of the fault table that are of the operator and of fleets in a cluster.

Against a real API server without nodes, with the rights that are shipped. Rows of pods are not
here: what is lost by requests while pods come and go is for the tests of workflows. How rows are
tried is `hack/measuring/faults/table.py`; what came of them is in the README.md beside it.
"""
