"""`contour doctor`: whether this machine, or a cluster, has what `run` and `serve` need.

Checks change nothing: they create no file, hold no lock, and write no object.
"""
