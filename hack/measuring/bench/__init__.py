"""Benchmarks: one module for each measurement of `hack/bench`."""
