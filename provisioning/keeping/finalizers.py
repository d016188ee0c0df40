"""The finalizers of Gateways and GatewayClasses, which keep these as long as they are served.

An instance puts them there and takes them off; the operator does the latter for one that is gone.
"""

from provisioning.keeping import ownership
from provisioning.keeping.ownership import Owner

GATEWAY_EXISTS = "gateway-exists-finalizer.gateway.networking.k8s.io"
"""Of a class that has Gateways, whoever serves them (Gateway API, comments on `GatewayClass`)."""

_PREFIX = "gateway.projectcontour.io/"


def of_instance(owner: Owner) -> str:
    """That of a Gateway which an instance serves: each instance has its own."""
    return _PREFIX + ownership.label_value(f"{owner.namespace}.{owner.name}")


def is_of_an_instance(finalizer: str) -> bool:
    """Whether some instance has put it on a Gateway."""
    return finalizer.startswith(_PREFIX)
