"""The Kubernetes objects of the rate limit service that an instance makes for RateLimitFilters."""

import ipaddress

from crds import workloads
from provisioning import commands, rendering
from provisioning.installation import Counter
from provisioning.names import RATE_LIMIT_IMAGE
from provisioning.templating import Document

CALLED = "contour-ratelimit"
"""What its objects are called, before the suffix of the instance."""

LEADER = "contour-ratelimit-leader"
"""The Service in front of the replica that leads, where that one counts, likewise."""

CLIENT = "contour-ratelimit-client"
"""The Secret with the certificate that Envoys show it, likewise."""

_RESOURCES = workloads.Resources(
    requests={"cpu": "100m", "memory": "64Mi"}, limits={"memory": "512Mi"}
)


def documents(given: Counter) -> list[Document]:
    """The pods that count for RateLimitFilters, and the Service in front of them; without a Redis,
    the Service in front of the replica that leads, which counts then."""
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
    """Of an EndpointSlice."""
    return f"IPv{ipaddress.ip_address(address).version}"
