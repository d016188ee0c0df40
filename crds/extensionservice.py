"""ExtensionService (projectcontour.io/v1alpha1): a service that Envoy itself asks.

Authorization servers, rate limit services and collectors of traces are such services. Users never
reach one by a host of their own.
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
    """A port of a Service in the namespace of the ExtensionService, and its share."""

    name: str
    """The Service."""
    port: Port
    """Its port."""
    weight: Uint32 = 0
    """Its share, relative to the sum; if none has a weight, all get the same."""


@model
class ExtensionServiceSpec:
    """Where the service is, and how it is asked."""

    services: tuple[ExtensionServiceTarget, ...] = Field(min_length=1)
    """The Services that answer; none of type ExternalName."""
    validation: UpstreamValidation | None = None
    """How the certificate of the service is checked; with protocol `h2`."""
    protocol: Literal["http/1.1", "h2", "h2c"] | None = None
    """What the service speaks: HTTP/1.1, HTTP/2 over TLS (if absent), HTTP/2."""
    load_balancer_policy: LoadBalancerPolicy | None = None
    """How questions are spread over endpoints; neither Cookie nor RequestHash."""
    timeout_policy: TimeoutPolicy | None = None
    """Limits of time; `idle` has no effect."""
    protocol_version: Literal["v3"] | None = None
    """The version of Envoy's protocol that the service speaks; there is no other."""
    circuit_breaker_policy: CircuitBreakers | None = None
    """Limits towards the service, for each Envoy; the configuration's if absent."""


@model
class ExtensionService:
    """A service that Envoy itself asks."""

    metadata: ObjectMeta
    spec: ExtensionServiceSpec
