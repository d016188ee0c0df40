"""Tests of `contour.keysets`."""
