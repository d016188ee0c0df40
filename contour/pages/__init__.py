"""What the process tells over HTTP: whether it is alive and ready, its metrics, what it is doing.

`settings` says where, as the configuration has it; `listeners` listens there, and moves while it
runs; `health` and `debug` are the pages. The metrics themselves are in `contour.metrics`, what a
user asks the instance on his own machine in `contour.inspection.server`.
"""
