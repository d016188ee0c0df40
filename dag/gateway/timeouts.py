"""How long a request may take (Gateway API, "HTTPRouteTimeouts"; GEP-1742).

Zero is without limit. There is one try, so the shorter of both limits holds. A limit of more than
a day is served as a day.
"""

from crds.gateway.httproute import HTTPRouteTimeouts
from dag import durations


def timeout(timeouts: HTTPRouteTimeouts | None) -> float | None:
    """Seconds; 0 is without limit, None where nothing is said."""
    if timeouts is None:
        return None
    given = [_seconds(it) for it in (timeouts.request, timeouts.backend_request) if it is not None]
    return min((it for it in given if it), default=0.0) if given else None


def _seconds(text: str) -> float:
    """The form was checked when the route was decoded; only the length can be refused."""
    try:
        return durations.seconds(text)
    except ValueError:
        return durations.LONGEST
