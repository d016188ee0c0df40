"""ContourConfiguration (projectcontour.io/v1alpha1): how an instance of the control plane works.

A superset of Contour's: the additions are optional and say so. An absent field has the default that
the rules of the configuration give it; absent and zero differ. The settings of Envoy are in
`envoysettings.py`, where and how the processes run is in `workloads.py`.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.authorization import AuthorizationServer
from crds.discovery import DiscoverySettings
from crds.endpoints import DebugEndpoint, Endpoint, MetricsEndpoint, ObjectName, XDSServer
from crds.envoysettings import Envoy
from crds.fields import Flag, Label, Uint32
from crds.hooks import Extension
from crds.meta import ObjectMeta, model
from crds.ratelimitfiltersettings import RateLimitFilterSettings
from crds.ratelimits import GlobalRateLimitPolicy
from crds.unserved import Unserved
from crds.workloads import Contour

DEFAULT_CONTROLLER_NAME = "projectcontour.io/gateway-controller"
"""Whose GatewayClasses are served if the configuration does not say."""


@model
class IngressSettings:
    """Which Ingresses and HTTPProxies the instance serves, and which address their status has."""

    class_names: tuple[str, ...] = ()
    """The ingress classes that are served; objects of other classes, or of none, are not. By
    default objects of the class `contour` and those without a class are served, and Ingresses of an
    IngressClass of this controller."""
    status_address: str | None = None
    """The addresses, separated by commas, that Ingresses, HTTPProxies and Gateways have in their
    status. The default is the addresses of Envoy's Service."""


_OLDEST = Unserved(
    instead="this field has no effect; the oldest Gateway of the class with the controller name "
    "`gateway.controllerName` is served, so set that field instead"
)
_NO_FLAGS = "this release has no feature that a flag enables"


@model
class PatchPolicySettings:
    """Which EnvoyPatchPolicies are served. In mode PerGateway those of each Gateway are, for its
    own Envoys."""

    namespaces: tuple[Label, ...] = ()
    """The namespaces whose EnvoyPatchPolicies are served for the Envoys of Ingress and HTTPProxy,
    too: whoever may write them there has power over the hosts of everybody. By default none."""


@model
class GatewaySettings:
    """Which Gateways are served, and by which Envoys."""

    controller_name: str | None = None
    """GatewayClasses with this controller name, and their Gateways, are served. The default is
    `projectcontour.io/gateway-controller`. Upstream Contour does not have this field."""
    mode: Literal["Single", "PerGateway"] = "Single"
    """Single serves the oldest Gateway with the Envoys of Ingress and HTTPProxy. PerGateway serves
    every Gateway with Envoys of its own. The default is Single. Upstream Contour does not have this
    field."""
    only: Flag = False
    """If true, Ingresses and HTTPProxies are not served, and with PerGateway there are no Envoys
    for them. The default is false. Upstream Contour does not have this field."""
    parameters_namespaces: tuple[Label, ...] = ()
    """The namespaces whose EnvoyProxies and ContourConfigurations may set everything if a
    GatewayClass names them: the image, volumes, environment, placement and bootstrap of Envoys,
    too. By default only those in the namespace of the instance. Upstream Contour does not have this
    field."""
    envoy_patch_policies: PatchPolicySettings | None = None
    """Allows EnvoyPatchPolicies, which change the configuration of Envoys in ways that nothing
    checks but Envoy. Absent, the default: none is served. Upstream Contour does not have this
    field."""
    gateway_ref: Annotated[ObjectName | None, _OLDEST] = None
    """The only Gateway that upstream Contour would serve, by namespace and name."""
    name: Annotated[str | None, _OLDEST] = None
    """The name of the only Gateway, in an older spelling of `gatewayRef`."""
    namespace: Annotated[str | None, _OLDEST] = None
    """The namespace of the only Gateway, in an older spelling of `gatewayRef`."""


@model
class HTTPProxySettings:
    """Settings that apply to all HTTPProxies of the instance."""

    disable_permit_insecure: Flag | None = None
    """If true, plain HTTP of hosts with TLS is redirected to https even where a route has
    `permitInsecure`. The default is false."""
    root_namespaces: tuple[str, ...] = ()
    """The namespaces in which HTTPProxies may be roots, that is, have a virtual host. Roots
    elsewhere get an error. By default all namespaces may have roots."""
    fallback_certificate: ObjectName | None = None
    """The TLS Secret for clients that send no server name (SNI). It is used by hosts with
    `enableFallbackCertificate`, whose namespaces need a TLSCertificateDelegation."""


@model
class DefaultHeadersPolicy:
    """Headers that are set and removed on all routes. What a route or Service says about the same
    header wins."""

    set: dict[str, str] = Field(default_factory=dict)
    """The headers that are set, by name, with their values. A header that cannot be changed, such
    as `Connection`, is an error."""
    remove: tuple[str, ...] = ()
    """The names of the headers that are removed. A header that cannot be changed, such as
    `Connection`, is an error."""


@model
class PolicySettings:
    """Header policies that apply to every route, unless the route or its Service says otherwise."""

    request_headers: DefaultHeadersPolicy | None = None
    """Headers that are set and removed on requests before they are forwarded."""
    response_headers: DefaultHeadersPolicy | None = None
    """Headers that are set and removed on responses before clients get them."""
    apply_to_ingress: Flag | None = None
    """If true, these policies also apply to the routes of Ingresses. By default they apply to
    HTTPProxies alone."""


@model
class RateLimitServiceSettings:
    """The service that counts requests for all Envoys, by Envoy's gRPC rate limit API. While it
    cannot be asked, hosts and routes with a global limit answer 503, unless `failOpen` is set."""

    extension_service: ObjectName
    """The ExtensionService of the rate limit service, by namespace and name. A missing or invalid
    one is an error."""
    domain: str = ""
    """The domain under which the rate limit service has the limits of this instance. The default is
    `contour`."""
    fail_open: Flag | None = None
    """If true, requests are allowed when the rate limit service does not answer. By default they
    are rejected."""
    enable_x_rate_limit_headers: Flag | None = None
    """If true, responses have `X-RateLimit-` headers, which tell clients their limits and what is
    left of them. The default is false."""
    enable_resource_exhausted_code: Flag | None = None
    """If true, rejected gRPC requests get the status `RESOURCE_EXHAUSTED` instead of `UNAVAILABLE`.
    The default is false."""
    default_global_rate_limit_policy: GlobalRateLimitPolicy | None = None
    """The global rate limit of virtual hosts of HTTPProxies that have none of their own. By default
    there is none."""


@model
class CustomTag:
    """A tag that every span has. Exactly one of `literal` and `requestHeaderName` must be set, and
    no earlier tag may have its name; another tag is an error and is left out."""

    tag_name: str
    """The name of the tag, which must not be empty."""
    literal: str = ""
    """The tag has this fixed value on every span."""
    request_header_name: str = ""
    """The tag has the value of this request header."""


@model
class TracingSettings:
    """Envoy sends traces of requests to a collector, by OpenTelemetry over gRPC."""

    include_pod_detail: Flag | None = None
    """If true, spans have the name and namespace of Envoy's pod in the tags `podName` and
    `podNamespace`. The default is true."""
    service_name: str | None = None
    """The service name that the traces have. The default is `contour`."""
    overall_sampling: str | None = None
    """The percentage of requests that are traced at most, a decimal number from 0 to 100 in quotes.
    The default is 100; another value is an error."""
    client_sampling: str | None = None
    """The percentage of traced requests among those with the header `x-client-trace-id`, a decimal
    number from 0 to 100 in quotes. The default is 100."""
    random_sampling: str | None = None
    """The percentage of traced requests among all others, a decimal number from 0 to 100 in quotes.
    The default is 100."""
    max_path_tag_length: Uint32 | None = None
    """The number of bytes of the request path that spans have at most; the rest is cut off. The
    default is 256."""
    custom_tags: tuple[CustomTag, ...] = ()
    """Tags that every span has, in addition to those of Envoy."""
    extension_service: ObjectName
    """The ExtensionService of the collector, by namespace and name. While it is missing or invalid,
    no traces are sent, and the status says so."""


@model
class ContourConfigurationSpec:
    """The settings of an instance. If one of them is invalid, the status names the field, and the
    last valid configuration stays in force."""

    xds_server: XDSServer | None = None
    """The server from which Envoys and gRPC clients get their configuration by xDS."""
    ingress: IngressSettings | None = None
    """Which Ingresses and HTTPProxies the instance serves, by class, and the address in their
    status."""
    debug: DebugEndpoint | None = None
    """The address and port of the control plane's debug pages. The default is `127.0.0.1:6060`."""
    health: Endpoint | None = None
    """The address and port of the control plane's health pages, such as `/healthz` and `/readyz`.
    The default is `0.0.0.0:8000`."""
    envoy: Envoy | None = None
    """The settings of Envoy: its listeners, clusters, logs and timeouts, and how its pods run."""
    gateway: GatewaySettings | None = None
    """Which Gateways of the Gateway API the instance serves. By default, without this field, it
    serves none."""
    httpproxy: HTTPProxySettings | None = None
    """Settings that apply to all HTTPProxies of the instance."""
    enable_external_name_service: Flag | None = None
    """If true, routes may lead to Services of type ExternalName. Whoever may create such Services
    can then reach whatever Envoy can reach. The default is false."""
    enable_backend: Flag | None = None
    """If true, routes may lead to Backends. Whoever may write a Backend can then reach whatever
    Envoy can reach; the addresses of Envoy itself and of its machine are refused in a cluster. The
    default is false in a cluster, and true on one machine."""
    foreign_guards: Literal["Closed", "Report"] = "Closed"
    """What happens to objects with annotations of other controllers (ingress-nginx, HAProxy,
    Traefik) that protect something and have no effect here, such as address lists or
    authentication. Closed, the default, answers requests with 503; Report serves them without that
    protection. The status has an error in both cases. Upstream Contour does not have this field."""
    global_ext_auth: AuthorizationServer | None = None
    """The authorization service that is asked on every host that does not say otherwise. While it
    cannot be asked, these hosts answer 503."""
    rate_limit_filters: RateLimitFilterSettings | None = None
    """How requests are counted that RateLimitFilters limit."""
    rate_limit_service: RateLimitServiceSettings | None = None
    """The service that counts requests for global rate limits. Without it global rate limits have
    no effect."""
    policy: PolicySettings | None = None
    """Header policies that apply to every route, unless the route or its Service says otherwise."""
    metrics: MetricsEndpoint | None = None
    """The address and port of the control plane's metrics at `/metrics`. The default is
    `0.0.0.0:8000`, in plain text."""
    tracing: TracingSettings | None = None
    """The collector to which Envoy sends traces of requests. By default no traces are sent."""
    feature_flags: Annotated[tuple[str, ...], Unserved(instead=_NO_FLAGS)] = ()
    """The names of experimental features of upstream Contour that are enabled."""
    discovery: DiscoverySettings | None = None
    """Which EnvoyConfigs the instance serves. By default, without this field, an instance in a
    cluster serves none. Upstream Contour does not have this field."""
    extensions: tuple[Extension, ...] = Field(default=(), max_length=16)
    """The servers that are asked what Envoys are to be served, in this order: each gets what the
    one before it answered. Upstream Contour does not have this field."""
    contour: Contour | None = None
    """How the control plane runs. If this is present, even empty, the operator provisions the
    instance. Upstream Contour does not have this field."""


@model
class ContourConfiguration:
    """The settings of an instance of Contour. Changes take effect without a restart."""

    metadata: ObjectMeta
    spec: ContourConfigurationSpec
