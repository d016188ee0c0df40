"""What would be answered differently if other objects were there: for `contour diff`.

Two worlds that have settled are compared by host, and a host by its requests: for each route of
either side requests are made up that it takes, and both sides say what they do with them. So a
change that no request notices, such as that of a shadowed route, is no difference, and one that
many requests notice is told once for each route. Nodes are compared, not texts. A route that no
made-up request reaches is compared by its match, or told as not compared. Elsewhere: the requests
(`requests`), texts for expressions in them (`samples`), routes without any (`unreached`), what a
route does (`effects`).
"""

from typing import Literal, NamedTuple

from crds.meta import ObjectRef
from dag import nodes
from dag.evaluation.requests import Request

Harm = Literal["closed", "unguarded", "drained", "replaced"]
"""A host or port is served no more; a guard is gone; open connections end; pods are replaced."""


class Difference(NamedTuple):
    """One thing that is not as it was."""

    place: nodes.HostKey
    """Its `host` is empty where a listener as such is concerned, its `listener` too for a fleet."""
    what: str
    """Of the host: `GET /cart and below`, `TLS`; or what of it: `port 443`."""
    aspect: str
    """What of it has changed: `answer`, `timeout`, `authorization` …"""
    before: str
    """For people; empty where there was none."""
    after: str
    objects: tuple[ObjectRef, ...] = ()
    """Whose routes these are or were, sorted."""
    harm: Harm | None = None
    example: Request | None = None
    """One that is answered differently; None where it is about no request, or none is known."""


class Uncompared(NamedTuple):
    """A route of which nobody knows whether its requests are answered as before."""

    place: nodes.HostKey
    what: str
    """Its match, as in a difference."""
    objects: tuple[ObjectRef, ...]
    """Whose route it is."""
