"""The Kubernetes objects of the rate limit service that an instance makes for RateLimitFilters."""

import ipaddress

from crds import workloads
from provisioning import commands, rendering
from provisioning.installation import Counter
from provisioning.names import RATE_LIMIT_IMAGE
from provisioning.templating import Document

CALLED = "contour-ratelimit"
"""The name of its objects, before the suffix of the instance."""

LEADER = "contour-ratelimit-leader"
"""The name of the Service in front of the leader, if that counts, before the suffix."""

CLIENT = "contour-ratelimit-client"
"""The name of the Secret with the client certificate of Envoys, before the suffix."""

_RESOURCES = workloads.Resources(
    requests={"cpu": "100m", "memory": "64Mi"}, limits={"memory": "512Mi"}
)


def documents(given: Counter) -> list[Document]:
    """The pods that count for RateLimitFilters, and the Service in front of them; without a Redis,
    a Service in front of the leader, which counts then."""
    place, service = given.place, given.service
    if given.redis is None:
        values = {"counter": given, "family": _family(given.address)}
        return rendering.rendered("rate_limit_leader", place, values)
    values = {
        "counter": given,
        "selector": {"app": given.called},
        "labels": rendering.labels(given.called, "ratelimit", place),
        "environment": commands.rate_limit_service(given),
        "image": service.image or RATE_LIMIT_IMAGE,
        "envoy_selector": rendering.OF_ENVOYS,
        "placement": rendering.placement(service.placement),
        "resources": rendering.resources(service.resources or _RESOURCES),
        "spread": rendering.spread(given.called),
    }
    return rendering.rendered("rate_limit_service", place, values)


def _family(address: str) -> str:
    """The address type of an EndpointSlice."""
    return f"IPv{ipaddress.ip_address(address).version}"
