"""A world written as nodes: the graph's answers are rows, all that is above them is real."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import Message

from contour.envoy import messages, outputs
from contour.xds import resources
from crds.meta import NamespacedName, ObjectRef
from dag import defaults, exports, hosts, listeners, nodes, ports, services, tables
from dag.configuration import settings
from dag.configuration.reading import Settings
from dag.engine.incremental import Engine
from dag.engine.view import Kept, Plan, Query, Table
from dag.gateway import clientports, filteredlisteners, telemetry
from dag.gateway.envoypolicies import securitycredentials, securitylogin
from dag.patches import policies
from dag.references import secrets, trust

FLEET = "web"
PLAIN = "ingress_http"
SECURE = "ingress_https"
ORIGIN = ObjectRef("HTTPProxy", "shop", "front")

VIRTUAL_HOSTS: Table[nodes.HostKey, nodes.VirtualHost] = Table("virtual hosts")
SECURE_HOSTS: Table[nodes.HostKey, nodes.SecureHost] = Table("secure hosts")
LISTENERS: Table[str, tuple[nodes.Listener, ...]] = Table("listeners")
LOGINS: Table[NamespacedName, nodes.LoginSecrets] = Table("secrets of logins")
FILTERS: Table[nodes.ListenerKey, tuple[nodes.ListenerFilter, ...]] = Table("filters")
ENDPOINTS: Table[nodes.ServicePort, nodes.Endpoints] = Table("endpoints")
SECRETS: Table[NamespacedName, nodes.Secret] = Table("secrets")
BUNDLES: Table[nodes.Trust, nodes.TrustBundle] = Table("bundles")
KNOWN: Table[NamespacedName, securitycredentials.Reading] = Table("known to policies")
EDGES: Table[tuple[()], nodes.Edge] = Table("edges")
RATE_LIMIT_SERVICES: Table[tuple[()], nodes.RateLimitService] = Table("rate limit services")
SETTINGS: Table[tuple[()], Settings] = Table("settings")

PLAN = (
    Plan(
        indexes=(
            listeners.NAMES,
            hosts.UNSERVED,
            ports.UDP_HELD,
            tables.ALL_CONFIGURATIONS,
            exports.EXPORTED,
            exports.EXPORTED_SERVICES,
            *policies.INDEXES,
        ),
        kept=(
            Kept(listeners.listeners, LISTENERS),
            Kept(hosts.virtual_host, VIRTUAL_HOSTS),
            Kept(hosts.secure_host, SECURE_HOSTS),
        ),
    )
    + outputs.PLAN
)

_ROWS: dict[Query[Any, Any], Any] = {
    hosts.virtual_host: lambda view, key: view.read(VIRTUAL_HOSTS, key),
    hosts.secure_host: lambda view, key: view.read(SECURE_HOSTS, key),
    listeners.listeners: lambda view, fleet: view.read(LISTENERS, fleet) or (),
    listeners.listener: lambda view, key: next(
        (it for it in view.read(LISTENERS, key.fleet) or () if it.name == key.name), None
    ),
    filteredlisteners.filters: lambda view, key: view.read(FILTERS, key) or (),
    telemetry.of_listener: lambda view, key: None,
    clientports.settings: lambda view, key: None,
    securitycredentials.reading: lambda view, key: (
        view.read(KNOWN, key) or securitycredentials.Reading(nodes.Known())
    ),
    securitylogin.secrets: lambda view, key: view.read(LOGINS, key),
    services.endpoints: lambda view, key: view.read(ENDPOINTS, key) or nodes.Endpoints(),
    services.numbers: lambda view, key: tuple(
        (it.address, it.port) for it in (view.read(ENDPOINTS, key) or nodes.Endpoints()).endpoints
    ),
    secrets.secret: lambda view, key: view.read(SECRETS, key),
    trust.bundle: lambda view, key: view.read(BUNDLES, key),
    settings.chosen_configuration: lambda view, key: None,
    settings.settings: lambda view, key: view.read(SETTINGS, key) or Settings(),
    defaults.edge: lambda view, key: view.read(EDGES, key) or nodes.Edge(),
    defaults.rate_limit_service: lambda view, key: view.read(RATE_LIMIT_SERVICES, key),
}


@contextmanager
def nodes_as_rows() -> Iterator[None]:
    """While it lasts, the graph answers what the tables of this module say."""
    before = {query: query.rule for query in _ROWS}
    try:
        for query, rule in _ROWS.items():
            query.rule = rule
        yield
    finally:
        for query, rule in before.items():
            query.rule = rule


class World:
    """Nodes in, parts out; and what the parts add up to."""

    def __init__(self) -> None:
        self.engine = Engine(PLAN)
        self.parts: defaultdict[resources.Name, dict[str, resources.Part]] = defaultdict(dict)

    def listeners(self, *found: nodes.Listener) -> None:
        self.engine.write(LISTENERS, FLEET, found)

    def host(self, listener: str, host: str, *routes: nodes.Route, **more: Any) -> None:
        key = nodes.HostKey(FLEET, listener, host)
        self.engine.write(VIRTUAL_HOSTS, key, nodes.VirtualHost(host, routes, (ORIGIN,), **more))

    def secure(self, host: str, tls: nodes.Tls | None) -> None:
        key = nodes.HostKey(FLEET, SECURE, host)
        found = nodes.SecureHost(tls, (ORIGIN,)) if tls else None
        self.engine.write(SECURE_HOSTS, key, found)

    def no_host(self, listener: str, host: str) -> None:
        self.engine.write(VIRTUAL_HOSTS, nodes.HostKey(FLEET, listener, host), None)

    def endpoints(self, cluster: nodes.Cluster, *numbers: int) -> None:
        found = nodes.Endpoints(tuple(nodes.Endpoint("127.0.0.1", it) for it in numbers))
        self.engine.write(ENDPOINTS, cluster.port, found)

    def settle(self) -> list[resources.Change]:
        """The changed parts of the fleet, as a server takes them."""
        changed = [it for change in self.engine.settle() for _, it in outputs.changes(change)]
        assert not self.engine.failures, self.engine.failures
        for name, part, value in changed:
            if value is None:
                del self.parts[name][part]
                if not self.parts[name]:
                    del self.parts[name]
            else:
                self.parts[name][part] = value
        return changed

    def body(self, name: resources.Name) -> bytes:
        """A resource as it is sent."""
        return b"".join(part.body for _, part in sorted(self.parts[name].items()))

    def message(self, name: resources.Name) -> Any:
        found: Message = messages.TYPES[name.type_url]()
        found.ParseFromString(self.body(name))
        return found

    def names(self, type_url: str) -> list[str]:
        return sorted(it.name for it in self.parts if it.type_url == type_url)


def cluster(name: str = "web", **policies: Any) -> nodes.Cluster:
    port = nodes.ServicePort(NamespacedName("shop", name), 80, "http")
    return nodes.Cluster(port, **policies)


def forward(*clusters: nodes.Cluster, **more: Any) -> nodes.Forward:
    return nodes.Forward(tuple(nodes.Backend(it) for it in clusters), **more)


def route(action: nodes.Action, path: nodes.Path | None = None, **more: Any) -> nodes.Route:
    return nodes.Route(nodes.Match(path or nodes.Prefix("/")), action, ORIGIN, **more)


def plain_listener(port: int = 8080, name: str = PLAIN) -> nodes.Listener:
    return nodes.Listener(name, "HTTP", 80, "127.0.0.1", port)


def secure_listener(port: int = 8443) -> nodes.Listener:
    return nodes.Listener(SECURE, "HTTPS", 443, "127.0.0.1", port)


def tls(name: str = "cert", **versions: Any) -> nodes.Tls:
    return nodes.Tls(NamespacedName("shop", name), **versions)


def pairs(found: Iterable[Any]) -> dict[str, str]:
    """Headers to be added, as plain text."""
    return {it.header.key: it.header.value for it in found}
