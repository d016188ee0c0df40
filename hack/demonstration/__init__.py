"""The demonstration of `hack/demo`: a real Envoy serves the quickstart manifests.

Not part of the product and not installed. Run from the root of the repository. Every answer is
compared with the expected one; any difference makes the demonstration fail.
"""
