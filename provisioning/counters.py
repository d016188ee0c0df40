"""The Kubernetes objects of the rate limit service that an instance makes for RateLimitFilters."""

from crds import workloads
from provisioning import commands, rendering
from provisioning.installation import Counter
from provisioning.names import RATE_LIMIT_IMAGE
from provisioning.templating import Document

CALLED = "contour-ratelimit"
"""What its objects are called, before the suffix of the instance."""

CLIENT = "contour-ratelimit-client"
"""The Secret with the certificate that Envoys show it, likewise."""

_RESOURCES = workloads.Resources(
    requests={"cpu": "100m", "memory": "64Mi"}, limits={"memory": "512Mi"}
)


def documents(given: Counter) -> list[Document]:
    """The pods that count for RateLimitFilters, and the Service in front of them."""
    place, service = given.place, given.service
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
