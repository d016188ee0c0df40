"""What it costs: one module for each measurement of `hack/bench`."""
