"""The finalizers of Gateways and GatewayClasses, which keep these while they are served.

An instance adds and removes them; the operator removes those of an instance that is gone.
"""

from provisioning.keeping import ownership
from provisioning.keeping.ownership import Owner

GATEWAY_EXISTS = "gateway-exists-finalizer.gateway.networking.k8s.io"
"""The finalizer of a class with Gateways, whoever serves them (Gateway API, comments on
`GatewayClass`)."""

_PREFIX = "gateway.projectcontour.io/"


def of_instance(owner: Owner) -> str:
    """The finalizer of a Gateway that an instance serves: each instance has its own."""
    return _PREFIX + ownership.label_value(f"{owner.namespace}.{owner.name}")


def manager(owner: Owner) -> str:
    """The field manager of an instance: it tells who has put the finalizer of a class there."""
    return of_instance(owner)


def is_of_an_instance(finalizer: str) -> bool:
    """Whether a finalizer of a Gateway is that of some instance."""
    return finalizer.startswith(_PREFIX)
