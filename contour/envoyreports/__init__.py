"""What the Envoys of all replicas report about a fleet's configuration, as rows of the graph.

`report` is what the Envoys of one replica accept and refuse, and the changes of that; `merging`
combines the reports of all replicas into the rows that statuses are made of; `pending` is what they
may have yet to accept; `reporting` sends a follower's reports to the leader, where `collector`
receives them; `encoding` is the wire format; `objects` has the rows of what several fleets refuse.
"""

from contour.envoyreports.merging import FleetReports
from contour.envoyreports.objects import RefusedObjects
from contour.envoyreports.pending import PublishedState

__all__ = ["FleetReports", "PublishedState", "RefusedObjects"]
