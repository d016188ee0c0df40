"""Faults: one module for each measurement of `hack/chaos`."""
