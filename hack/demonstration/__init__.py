"""What `hack/demo` shows: the quickstart manifests, served by a real Envoy, one answer at a time.

Not part of the product and not installed. Run from the root of the repository. Every answer is
compared with the one that is expected; any that differs makes the demonstration fail.
"""
