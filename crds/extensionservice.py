"""ExtensionService (projectcontour.io/v1alpha1): a service that Envoy itself calls.

Authorization services, rate limit services and collectors of traces are such services. Clients
never reach one through a host of its own.
"""

from typing import Literal

from pydantic import Field

from crds.envoysettings import CircuitBreakers
from crds.fields import Port, Uint32
from crds.meta import ObjectMeta, model
from crds.policies import LoadBalancerPolicy, TimeoutPolicy
from crds.upstreamvalidation import UpstreamValidation


@model
class ExtensionServiceTarget:
    """A port of a Service in the namespace of the ExtensionService, and its share of the calls."""

    name: str
    """The name of the Service, in the namespace of the ExtensionService. A missing Service, or one
    of type ExternalName, is an error and gets no calls."""
    port: Port
    """The number of the Service's port, not of the container's."""
    weight: Uint32 = 0
    """The share of this Service, relative to the sum of all weights in the list. If no Service has
    a weight, all shares are equal; otherwise a weight of 0 means no calls."""


@model
class ExtensionServiceSpec:
    """The Services that provide the extension, and how Envoy calls them."""

    services: tuple[ExtensionServiceTarget, ...] = Field(min_length=1)
    """The Services that are called, with their shares. If none of them can be used, what depends on
    the extension is answered with 503."""
    validation: UpstreamValidation | None = None
    """The certificate authority and the names by which the service's certificate is verified, with
    protocol `h2` alone. Without it the certificate is not verified."""
    protocol: Literal["http/1.1", "h2", "h2c"] | None = None
    """The protocol of the service: `h2`, the default, is HTTP/2 over TLS, `h2c` is HTTP/2 without
    TLS, and `http/1.1` is HTTP/1.1 without TLS."""
    load_balancer_policy: LoadBalancerPolicy | None = None
    """How calls are distributed over the endpoints. The default is RoundRobin; the strategies
    Cookie and RequestHash are ignored with a warning."""
    timeout_policy: TimeoutPolicy | None = None
    """Timeouts of calls and connections. `response` applies where the caller sets no timeout of its
    own; `idle` is ignored with a warning."""
    protocol_version: Literal["v3"] | None = None
    """The version of Envoy's API that the service implements. `v3` is the default and the only
    valid value."""
    circuit_breaker_policy: CircuitBreakers | None = None
    """Limits on what each Envoy may have open towards the service. The default of each is the one
    in `envoy.cluster.circuitBreakers` of the configuration."""


@model
class ExtensionService:
    """A service that Envoy itself calls, such as an authorization or rate limit service."""

    metadata: ObjectMeta
    spec: ExtensionServiceSpec
