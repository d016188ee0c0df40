"""Which requests would be answered differently with another set of objects: for `contour diff`.

Two settled worlds are compared host by host, and a host by its requests: for each route of either
side, requests are made up that match it, and evaluated on both sides. So a change that no request
notices, such as that of a shadowed route, is no difference, and one that many requests notice is
reported once for each route. Nodes are compared, not texts. A route that no made-up request reaches
is compared by its match, or reported as not compared. Elsewhere: the requests (`requests`), texts
for expressions in them (`samples`), routes without any (`unreached`), what a route does
(`effects`).
"""

from typing import Literal, NamedTuple

from crds.meta import ObjectRef
from dag import nodes
from dag.evaluation.requests import Request

Harm = Literal["closed", "unguarded", "drained", "replaced"]
"""A host or port is no longer served; a guard is gone; open connections end; pods are replaced."""


class Difference(NamedTuple):
    """One thing that differs between the two worlds."""

    place: nodes.HostKey
    """For a listener as a whole its `host` is empty; for a fleet its `listener` is empty, too."""
    what: str
    """What differs there, such as `GET /cart and below`, `TLS` or `port 443`."""
    aspect: str
    """Which aspect of `what` differs: `answer`, `timeout`, `authorization` …"""
    before: str
    """For people; empty where there was none."""
    after: str
    objects: tuple[ObjectRef, ...] = ()
    """The objects that the routes come from, on either side; sorted."""
    harm: Harm | None = None
    example: Request | None = None
    """A request that is answered differently; None if no request is concerned, or none is known."""


class Uncompared(NamedTuple):
    """A route of which it is not known whether its requests are answered as before."""

    place: nodes.HostKey
    what: str
    """The match of the route, as in a difference."""
    objects: tuple[ObjectRef, ...]
    """The object that the route comes from."""
