"""`contour demo`: the quickstart manifests, backends that answer, and `contour run` on both.

Everything is in the package, so that it works outside a checkout, too. The manifests are in
`quickstart/`; `hack/demo` and the tests use the same ones.
"""
