"""ContourConfiguration (projectcontour.io/v1alpha1): how an instance of the control plane works.

A superset of Contour's: what is ours beside it is optional and says so. Absent means the default
that the settings rules put in its place; absent and zero differ. What concerns Envoy is in
`envoysettings.py`, where the processes run is in `workloads.py`.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.authorization import AuthorizationServer
from crds.endpoints import DebugEndpoint, Endpoint, MetricsEndpoint, ObjectName, XDSServer
from crds.envoysettings import Envoy
from crds.fields import Flag, Uint32
from crds.meta import ObjectMeta, model
from crds.ratelimits import GlobalRateLimitPolicy
from crds.unserved import Unserved
from crds.workloads import Contour


@model
class IngressSettings:
    """Which Ingresses and HTTPProxies are served."""

    class_names: tuple[str, ...] = ()
    """Their classes; if empty, `contour` and those without a class."""
    status_address: str | None = None
    """The address to be told in their status; that of Envoy's Service if absent."""


_OLDEST = Unserved(
    instead="this field has no effect; the oldest Gateway of the class that names "
    "`gateway.controllerName` is served, so write that one"
)
_FLAGS = "the flags of `contour serve` say where, for Envoys find it there before they know this"
_NO_FLAGS = "there is no feature that waits for a flag"


@model
class GatewaySettings:
    """Which Gateways are served, and by which Envoys."""

    controller_name: str | None = None
    """Serve the GatewayClasses that name this controller. Beside Contour's fields."""
    mode: Literal["Single", "PerGateway"] = "Single"
    """Single: the oldest Gateway, on the Envoys of Ingress and HTTPProxy. PerGateway: every
    Gateway, each on Envoys of its own. Beside Contour's fields."""
    gateway_ref: Annotated[ObjectName | None, _OLDEST] = None
    """The only Gateway to be served, as Contour's users write it."""
    name: Annotated[str | None, _OLDEST] = None
    """The old spelling of `gatewayRef.name`."""
    namespace: Annotated[str | None, _OLDEST] = None
    """The old spelling of `gatewayRef.namespace`."""


@model
class HTTPProxySettings:
    """How HTTPProxies are served."""

    disable_permit_insecure: Flag | None = None
    """Redirect plain HTTP on TLS hosts even where a route permits it."""
    root_namespaces: tuple[str, ...] = ()
    """The only namespaces that may have virtual hosts; all of them if empty."""
    fallback_certificate: ObjectName | None = None
    """The Secret for clients that send no server name."""


@model
class DefaultHeadersPolicy:
    """Headers that are set and removed."""

    set: dict[str, str] = Field(default_factory=dict)
    """Headers and their values."""
    remove: tuple[str, ...] = ()
    """Names of headers."""


@model
class PolicySettings:
    """What holds for every route that does not say otherwise."""

    request_headers: DefaultHeadersPolicy | None = None
    """Headers of requests."""
    response_headers: DefaultHeadersPolicy | None = None
    """Headers of answers."""
    apply_to_ingress: Flag | None = None
    """Also for routes of Ingresses."""


@model
class RateLimitServiceSettings:
    """The service that counts requests for all Envoys."""

    extension_service: ObjectName
    """The ExtensionService."""
    domain: str = ""
    """What the service calls our limits."""
    fail_open: Flag | None = None
    """Let requests pass if the service does not answer."""
    enable_x_rate_limit_headers: Flag | None = None
    """Tell clients of their limits by `X-RateLimit-` headers."""
    enable_resource_exhausted_code: Flag | None = None
    """Tell gRPC clients RESOURCE_EXHAUSTED instead of UNAVAILABLE."""
    default_global_rate_limit_policy: GlobalRateLimitPolicy | None = None
    """What is counted on virtual hosts that do not say."""


@model
class CustomTag:
    """A tag on every span; exactly one of `literal` and `requestHeaderName` is set."""

    tag_name: str
    """The name of the tag."""
    literal: str = ""
    """Its value."""
    request_header_name: str = ""
    """The header that has its value."""


@model
class TracingSettings:
    """Where traces are sent, and which (OpenTelemetry)."""

    include_pod_detail: Flag | None = None
    """Tell the name and namespace of Envoy's pod."""
    service_name: str | None = None
    """What the traces call us; `contour` if absent."""
    overall_sampling: str | None = None
    """The most requests to trace, in percent; 100 if absent."""
    client_sampling: str | None = None
    """Requests to trace of those that ask for it, in percent; 100 if absent."""
    random_sampling: str | None = None
    """Requests to trace of the others, in percent; 100 if absent."""
    max_path_tag_length: Uint32 | None = None
    """How much of the path is told; 256 if absent."""
    custom_tags: tuple[CustomTag, ...] = ()
    """More tags."""
    extension_service: ObjectName
    """The ExtensionService that takes them."""


@model
class ContourConfigurationSpec:
    """How the instance works."""

    xds_server: Annotated[XDSServer | None, Unserved(instead=_FLAGS)] = None
    """Where Envoys get their configuration."""
    ingress: IngressSettings | None = None
    """Which Ingresses and HTTPProxies are served."""
    debug: DebugEndpoint | None = None
    """Where the debugging pages are."""
    health: Endpoint | None = None
    """Where health is told."""
    envoy: Envoy | None = None
    """How Envoy is set up."""
    gateway: GatewaySettings | None = None
    """Which Gateways are served; none if absent."""
    httpproxy: HTTPProxySettings | None = None
    """How HTTPProxies are served."""
    enable_external_name_service: Flag | None = None
    """Let routes go to Services of type ExternalName: whoever may create one can then reach
    whatever the Envoys can reach."""
    foreign_guards: Literal["Closed", "Report"] = "Closed"
    """What becomes of objects with annotations of other controllers (ingress-nginx, HAProxy,
    Traefik) that are to guard something and have no effect here, such as lists of addresses or
    authentication. Closed: what they guard is answered with 503. Report: it is served without
    them. Their status has an error in both cases. Beside Contour's fields."""
    global_ext_auth: AuthorizationServer | None = None
    """A service that is asked whether requests may pass, on every host that does not say."""
    rate_limit_service: RateLimitServiceSettings | None = None
    """The service that counts requests."""
    policy: PolicySettings | None = None
    """What holds for every route that does not say otherwise."""
    metrics: MetricsEndpoint | None = None
    """Where our metrics are."""
    tracing: TracingSettings | None = None
    """Where traces are sent."""
    feature_flags: Annotated[tuple[str, ...], Unserved(instead=_NO_FLAGS)] = ()
    """New features to be switched on."""
    contour: Contour | None = None
    """Present, even empty: the operator makes this instance. Beside Contour's fields."""


@model
class ContourConfiguration:
    """The settings of an instance; applied as they change, without a restart."""

    metadata: ObjectMeta
    spec: ContourConfigurationSpec
