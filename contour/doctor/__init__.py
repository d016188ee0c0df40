"""`contour doctor`: whether this machine, or a cluster, has what `run` and `serve` need.

Nothing is changed by a check: no file is made, no lock is held, no object is written.
"""
