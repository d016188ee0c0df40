"""The measurements of `hack/bench` and `hack/chaos`, and their tools.

Not part of the product and not installed. Run from the root of the repository. `bench/` and
`chaos/` have one module for each measurement; the other modules are tools for those.
"""
