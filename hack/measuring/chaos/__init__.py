"""What goes wrong: one module for each measurement of `hack/chaos`."""
