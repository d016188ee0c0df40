"""The limit on request bodies of a BackendTrafficPolicy.

A limit that cannot be kept closes the routes. Source: Envoy Gateway 1.9.
"""

from crds.envoygateway import backendlimits as limits
from dag.problems import Refused
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.values import quantities

MOST_BUFFERED = 2**32 - 1
"""Bytes, as Envoy counts them."""


def body_limit(found: limits.RequestBuffer | None, own: Place) -> int | None:
    """How many bytes a body of a request may have; Refused if that is no number of bytes."""
    if found is None:
        return None
    if why := quantities.refusal(found.limit, 1, MOST_BUFFERED):
        raise Refused(complaints.policy_closes(own.at("requestBuffer").at("limit"), why))
    return quantities.whole(found.limit)
