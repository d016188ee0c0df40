"""The HTTP pages of the process: whether it is alive and ready, its metrics, and debugging.

`settings` reads the addresses from the configuration; `listeners` listens there, and moves sockets
while the process runs; `health` and `debug` are the pages. Elsewhere: the metrics
(`contour.metrics`), and the socket for commands on the same machine (`contour.inspection.server`).
"""
