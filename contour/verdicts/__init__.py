"""What Envoys say of a fleet's configuration, on whichever replica they hang, as rows of the graph.

`testimony` is what the Envoys of one replica say, and how that changes; `merging` makes one truth
of what all replicas say, for statuses to tell; `reporting` sends a follower's testimony to the
leader, `reception` takes it in there; `encoding` is what goes over the wire between them.
"""

from contour.verdicts.merging import Standing, Verdicts

__all__ = ["Standing", "Verdicts"]
