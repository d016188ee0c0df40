"""`contour demo`: the quickstart manifests, backends that answer, and `contour run` on both.

Everything comes with the package, so that the first request is answered outside a checkout, too.
The manifests are in `quickstart/`; `hack/demo` and the tests use the same ones.
"""
