"""What `hack/bench` and `hack/chaos` are made of: worlds, load, rigs, and the figures they print.

Not part of the product and not installed. Run from the root of the repository. `bench/` and
`chaos/` hold one module per measurement; everything else serves those.
"""
