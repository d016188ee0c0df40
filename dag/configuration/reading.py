"""Reading a ContourConfiguration: the settings it makes, and what is wrong with it.

Absent and zero are different things: absent means the default written here. A value that makes no
sense is reported with its field path, and the default takes its place. Elsewhere: that an invalid
object never replaces the last good one (`contour.intake`). Field names and defaults: Contour's
configuration reference; ours are marked in the model.
"""

from dataclasses import field
from typing import Literal, NamedTuple

from crds.authorization import AuthorizationServer
from crds.contourconfiguration import (
    DEFAULT_CONTROLLER_NAME,
    ContourConfiguration,
    ContourConfigurationSpec,
    CustomTag,
    GatewaySettings,
    RateLimitServiceSettings,
    TracingSettings,
)
from crds.discovery import DiscoverySettings
from crds.envoysettings import Envoy, ListenerTLS, TimeoutSettings
from crds.grpcclients import GrpcClients
from crds.meta import NamespacedName
from crds.ratelimitfiltersettings import RateLimitFilterSettings
from crds.records import dataclass, replace
from crds.unserved import unserved
from dag import nodes
from dag.configuration import (
    edges,
    headerdefaults,
    hooks,
    monitoring,
    publishing,
    readings,
    runtime,
    sites,
    upstreamsettings,
)
from dag.problems import Problem, Refused
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place, gathered
from dag.values import durations, headers

DnsLookupFamily = Literal["auto", "v4", "v6", "all"]


class Ports(NamedTuple):
    """The ports of plain HTTP and HTTPS that users see, and what Envoy binds for them."""

    http: int = 80
    https: int = 443
    http_address: str = "0.0.0.0"  # Envoy must be reachable from outside its pod
    http_bind: int = 8080
    https_address: str = "0.0.0.0"
    https_bind: int = 8443
    are_said: bool = False
    """Users have set the ports that clients see, so these are served whatever a Gateway has."""


class TlsVersions(NamedTuple):
    """The range of TLS versions that no host may leave."""

    minimum: nodes.TlsVersion = "1.2"
    maximum: nodes.TlsVersion = "1.3"


class Timeouts(NamedTuple):
    """Seconds; 0 is without limit, None is Envoy's own default."""

    request: float | None = None
    connection_idle: float | None = None
    stream_idle: float | None = None
    max_connection_duration: float | None = None
    delayed_close: float | None = None
    connection_shutdown_grace: float | None = None
    request_headers: float = 10.0
    tls_handshake: float = 10.0
    tcp_idle: float = 9001.0
    """As in Contour, whose number it is."""
    connect: float = 2.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting that shapes what is served."""

    class_names: tuple[str, ...] = ()
    """The ingress classes served; if empty, `contour` and objects without a class."""
    root_namespaces: tuple[str, ...] = ()
    """The namespaces in which HTTPProxies may claim hosts; all, if empty."""
    disable_permit_insecure: bool = False
    external_names: bool = False
    backends: bool | None = None
    """Whether routes may lead to Backends; None: only on one machine (`settings.backends`)."""
    foreign_guards: Literal["Closed", "Report"] = "Closed"
    """What happens to objects with guarding annotations of other controllers."""
    makes_fleet: bool = False
    """The instance makes Envoys and the Service in front of them, and keeps both."""
    controller_name: str = DEFAULT_CONTROLLER_NAME
    """The controller name of our GatewayClasses; none are ours if empty."""
    mode: Literal["Single", "PerGateway"] = "Single"
    gateways_only: bool = False
    """Ingresses and HTTPProxies are not served."""
    parameters_namespaces: tuple[str, ...] = ()
    """Namespaces in which an EnvoyProxy of a class may set everything; if empty, our own."""
    patching: tuple[str, ...] | None = None
    """From which namespaces EnvoyPatchPolicies are served for the shared Envoys; None: none is
    served at all."""
    routing: Literal["Auto", "Shards", "Single"] = "Auto"
    ports: Ports = field(default_factory=Ports)
    tls: TlsVersions = field(default_factory=TlsVersions)
    timeouts: Timeouts = field(default_factory=Timeouts)
    http_versions: tuple[str, ...] = ("HTTP/1.1", "HTTP/2")
    merge_slashes: bool = True
    strip_trailing_host_dot: bool = True
    num_trusted_hops: int = 0
    dns_lookup_family: Literal["auto", "v4", "v6", "all"] = "auto"
    is_closed: bool = False
    """The configuration asks for a guard of every host that is not served yet."""
    global_authorization: AuthorizationServer | None = None
    """As it was written: the service is looked up elsewhere (`defaults`)."""
    rate_limiting: RateLimitServiceSettings | None = None
    """Likewise."""
    upstreams: nodes.Upstreams = field(default_factory=nodes.Upstreams)
    edge: nodes.Edge = field(default_factory=nodes.Edge)
    """Traces aside: their collector is looked up elsewhere (`defaults`)."""
    headers: headerdefaults.Defaults = field(default_factory=headerdefaults.Defaults)
    tracing: TracingSettings | None = None
    """As it was written."""
    limit_filters: RateLimitFilterSettings = field(default_factory=RateLimitFilterSettings)
    fallback_certificate: NamespacedName | None = None
    envoy_runtime: runtime.Runtime = field(default_factory=runtime.Runtime)
    monitors: tuple[nodes.Monitor, ...] = ()
    hook_servers: tuple[nodes.HookServer, ...] = ()
    grpc_clients: GrpcClients | None = None
    """As it was written: which Services it means is looked up elsewhere (`exports`)."""
    discovery: DiscoverySettings | None = None
    """As it was written."""


def resolved(found: ContourConfiguration) -> tuple[Settings, tuple[Problem, ...]]:
    """The settings of a configuration, and its errors."""
    return gathered(_settings(problems.spec(found.metadata.key), found.spec))


def _settings(at: Place, spec: ContourConfigurationSpec) -> Findings[Settings]:
    envoy = spec.envoy or Envoy()
    gateway, httpproxy = spec.gateway, spec.httpproxy
    controller_name = (gateway.controller_name or DEFAULT_CONTROLLER_NAME) if gateway else ""
    yield from sites.problems_of(at, spec)
    yield from publishing.problems_of(at, envoy, controller_name)
    return Settings(
        class_names=spec.ingress.class_names if spec.ingress else (),
        root_namespaces=httpproxy.root_namespaces if httpproxy else (),
        disable_permit_insecure=bool(httpproxy and httpproxy.disable_permit_insecure),
        external_names=bool(spec.enable_external_name_service),
        backends=spec.enable_backend,
        foreign_guards=spec.foreign_guards,
        makes_fleet=envoy.network_publishing is not None and envoy.managed is not False,
        controller_name=controller_name,
        mode=gateway.mode if gateway else "Single",
        gateways_only=bool(gateway and gateway.only),
        parameters_namespaces=gateway.parameters_namespaces if gateway else (),
        patching=_patching(gateway),
        routing=envoy.listener.routing if envoy.listener else "Auto",
        ports=_ports(envoy),
        tls=(yield from _tls_versions(at, envoy)),
        timeouts=(yield from _timeouts(at, envoy.timeouts)),
        http_versions=(yield from _http_versions(at, envoy)),
        merge_slashes=not (envoy.listener and envoy.listener.disable_merge_slashes),
        strip_trailing_host_dot=_strips_dot(envoy),
        num_trusted_hops=(envoy.network.num_trusted_hops or 0) if envoy.network else 0,
        dns_lookup_family=(yield from _dns_lookup_family(at, envoy)),
        is_closed=any(it.guards for it in unserved(spec)),
        edge=(yield from edges.edge(at, envoy)),
        upstreams=(yield from upstreamsettings.upstreams(at, envoy)),
        headers=(yield from headerdefaults.defaults(at, spec.policy)),
        global_authorization=spec.global_ext_auth,
        rate_limiting=spec.rate_limit_service,
        limit_filters=spec.rate_limit_filters or RateLimitFilterSettings(),
        tracing=(yield from _tracing(at.at("tracing"), spec.tracing)),
        fallback_certificate=_fallback_certificate(spec),
        envoy_runtime=(yield from runtime.runtime(at, envoy)),
        hook_servers=(yield from hooks.servers(at, spec.extensions)),
        monitors=(yield from monitoring.monitors(at, envoy, _taken(envoy))),
        grpc_clients=spec.xds_server.grpc_clients if spec.xds_server else None,
        discovery=spec.discovery,
    )


def _patching(gateway: GatewaySettings | None) -> tuple[str, ...] | None:
    allowed = gateway.envoy_patch_policies if gateway is not None else None
    return allowed.namespaces if allowed is not None else None


def _strips_dot(envoy: Envoy) -> bool:
    """On unless it is switched off: in DNS, a host name with a dot at the end is the same host."""
    return envoy.network is None or envoy.network.strip_trailing_host_dot is not False


def _tracing(place: Place, written: TracingSettings | None) -> Findings[TracingSettings | None]:
    """As it was written, without the tags that make no sense; its numbers are text."""
    if written is None:
        return None
    for field_, text in (
        ("overallSampling", written.overall_sampling),
        ("clientSampling", written.client_sampling),
        ("randomSampling", written.random_sampling),
    ):
        if text and not _is_percentage(text):
            yield problems.invalid_value(place.at(field_), f"{text[:60]!r} is no percentage")
    tags: dict[str, CustomTag] = {}
    for index, tag in enumerate(written.custom_tags):
        why = _tag_refusal(tag)
        if not why and tag.tag_name in tags:
            why = f"an earlier tag has the tagName {tag.tag_name[:60]!r} already"
        if why:
            yield problems.invalid_value(place.at("customTags", index), why)
        else:
            tags[tag.tag_name] = tag
    return replace(written, custom_tags=tuple(tags.values()))


def _tag_refusal(tag: CustomTag) -> str | None:
    if not tag.tag_name or bool(tag.literal) == bool(tag.request_header_name):
        return "needs a tagName, and exactly one of literal and requestHeaderName"
    name = tag.request_header_name
    return f"header {name[:60]!r} {why}" if name and (why := headers.name_refusal(name)) else None


def _is_percentage(text: str) -> bool:
    try:
        return 0 <= float(text) <= 100
    except ValueError:
        return False


def _fallback_certificate(spec: ContourConfigurationSpec) -> NamespacedName | None:
    found = spec.httpproxy.fallback_certificate if spec.httpproxy else None
    return NamespacedName(found.namespace, found.name) if found else None


def _ports(envoy: Envoy) -> Ports:
    usual = Ports()
    http, https, external = envoy.http, envoy.https, envoy.external_ports
    return Ports(
        http=external.http if external else usual.http,
        https=external.https if external else usual.https,
        http_address=(http and http.address) or usual.http_address,
        http_bind=(http and http.port) or usual.http_bind,
        https_address=(https and https.address) or usual.https_address,
        https_bind=(https and https.port) or usual.https_bind,
        are_said=external is not None,
    )


def _taken(envoy: Envoy) -> dict[int, str]:
    ports = _ports(envoy)
    return {ports.http_bind: "spec.envoy.http", ports.https_bind: "spec.envoy.https"}


def _tls_versions(at: Place, envoy: Envoy) -> Findings[TlsVersions]:
    tls = (envoy.listener and envoy.listener.tls) or ListenerTLS()
    versions = yield from readings.tls_versions(
        at.at("envoy").at("listener").at("tls"),
        tls.minimum_protocol_version,
        tls.maximum_protocol_version,
    )
    return TlsVersions(*versions)


def _timeouts(at: Place, given: TimeoutSettings | None) -> Findings[Timeouts]:
    if given is None:
        return Timeouts()

    def read(field: str, text: str | None) -> Findings[float | None]:
        try:
            place = at.at("envoy").at("timeouts").at(field)
            return durations.timeout(place, text, problems.invalid_value)
        except Refused as refused:
            yield refused.problem
            return None

    usual = Timeouts()
    connect = yield from read("connectTimeout", given.connect_timeout)
    headers = yield from read("requestHeadersTimeout", given.request_headers_timeout)
    handshake = yield from read("tlsHandshakeTimeout", given.tls_handshake_timeout)
    tcp_idle = yield from read("tcpIdleTimeout", given.tcp_idle_timeout)
    grace = given.connection_shutdown_grace_period
    longest = given.max_connection_duration
    return Timeouts(
        request=(yield from read("requestTimeout", given.request_timeout)),
        connection_idle=(yield from read("connectionIdleTimeout", given.connection_idle_timeout)),
        stream_idle=(yield from read("streamIdleTimeout", given.stream_idle_timeout)),
        max_connection_duration=(yield from read("maxConnectionDuration", longest)),
        delayed_close=(yield from read("delayedCloseTimeout", given.delayed_close_timeout)),
        connection_shutdown_grace=(yield from read("connectionShutdownGracePeriod", grace)),
        request_headers=_or(usual.request_headers, headers),
        tls_handshake=_or(usual.tls_handshake, handshake),
        tcp_idle=_or(usual.tcp_idle, tcp_idle),
        connect=connect or usual.connect,
    )


def _or(usual: float, given: float | None) -> float:
    return usual if given is None else given


def _http_versions(at: Place, envoy: Envoy) -> Findings[tuple[str, ...]]:
    known, wanted = Settings().http_versions, [_canonical(it) for it in envoy.default_http_versions]
    found = yield from readings.all_of(at.at("envoy").at("defaultHTTPVersions"), known, wanted)
    return tuple(sorted(found)) or known


def _canonical(version: str) -> str:
    return version.upper() if "/" in version else f"HTTP/{version}"


def _dns_lookup_family(at: Place, envoy: Envoy) -> Findings[DnsLookupFamily]:
    given = envoy.cluster.dns_lookup_family if envoy.cluster else None
    place = at.at("envoy").at("cluster").at("dnsLookupFamily")
    known: tuple[DnsLookupFamily, ...] = ("auto", "v4", "v6", "all")
    read: Findings[DnsLookupFamily | None] = readings.one_of(place, known, given)
    return (yield from read) or "auto"
