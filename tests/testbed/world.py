"""Worlds to measure with: N hosts, each a root HTTPProxy that includes one child.

A world is a function of its numbers alone, so two runs measure the same. Each document is what a
user would write. Hosts share Services, and certificates if there are any; a host, its Service and
its certificate are in one namespace.
"""

import itertools
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from contour.events import Batch, Event
from crds import foreign
from crds.decode import Decoded, UnknownKind, decode
from tests.testbed import certificates

Document = dict[str, Any]

NAMESPACES = 10
"""The numbers of Services and certificates are multiples of it."""


@dataclass(frozen=True, slots=True)
class World:
    """A number of hosts and Services; the endpoints are these ports of this machine."""

    hosts: int
    services: int
    certificates: int = 0  # no TLS, if none
    backends: tuple[int, ...] = (9,)
    children: bool = True  # without, a host is one HTTPProxy with one route
    address: str = "127.0.0.1"  # of the backends; in a cluster nobody may be on the loopback

    @staticmethod
    def of(hosts: int, **more: Any) -> "World":
        """A world with one Service for ten hosts."""
        return World(hosts, _rounded(hosts // 10), **more)

    def documents(self) -> Iterator[Document]:
        """All objects; those that others refer to come first."""
        for number in range(self.certificates):
            yield self.secret(number)
        for number in range(self.services):
            yield self.service(number)
            yield self.slice(number)
        for number in range(self.hosts):
            yield from self.host(number)

    def host(self, number: int) -> tuple[Document, ...]:
        """The HTTPProxies of a host."""
        if not self.children:
            return (self.root(number),)
        return self.root(number), self.child(number)

    def root(self, number: int, path: str = "/") -> Document:
        """The HTTPProxy that owns the host."""
        virtual_host: Document = {"fqdn": fqdn(number)}
        if self.certificates:
            virtual_host["tls"] = {"secretName": f"cert-{number % self.certificates}"}
        include = {"name": f"child-{number}", "conditions": [{"prefix": "/api"}]}
        includes = [include] if self.children else []
        routes = [self._route(number, path)]
        spec = {"virtualhost": virtual_host, "includes": includes, "routes": routes}
        return _proxy(f"root-{number}", number, spec)

    def child(self, number: int, path: str = "/v1", header: str = "0") -> Document:
        """The HTTPProxy that the host includes."""
        header_policy = {"set": [{"name": "x-edit", "value": header}]}
        edited = self._route(number, path) | {"responseHeadersPolicy": header_policy}
        return _proxy(f"child-{number}", number, {"routes": [edited, self._route(number, "/")]})

    def service(self, number: int, *, port: int = 80) -> Document:
        """A Service with one port, which has a name."""
        ports = [{"name": "http", "port": port, "protocol": "TCP", "targetPort": 8080}]
        return _document("v1", "Service", f"service-{number}", number, {"spec": {"ports": ports}})

    def slice(self, number: int, backends: Iterable[int] | None = None) -> Document:
        """The endpoints of a Service: one of the ports of this machine, or those given."""
        ports = tuple(backends or (self.backends[number % len(self.backends)],))
        name = f"service-{number}-a"
        rest = {
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self.address], "conditions": {"ready": True}}],
            "ports": [{"name": "http", "port": it, "protocol": "TCP"} for it in ports],
        }
        made = _document("discovery.k8s.io/v1", "EndpointSlice", name, number, rest)
        made["metadata"]["labels"] = {"kubernetes.io/service-name": f"service-{number}"}
        return made

    def secret(self, number: int, *, renewal: int = 0) -> Document:
        """A certificate for the hosts that use it; each renewal is a different one."""
        pair = _pair(f"cert-{number}", renewal)
        files = {"tls.crt": pair.pem, "tls.key": pair.key_pem}
        data = {name: b64encode(it).decode() for name, it in files.items()}
        rest = {"type": "kubernetes.io/tls", "data": data}
        return _document("v1", "Secret", f"cert-{number}", number, rest)

    def _route(self, number: int, path: str) -> Document:
        service = {"name": f"service-{number % self.services}", "port": 80}
        return {"conditions": [{"prefix": path}], "services": [service]}


@lru_cache(maxsize=1000)
def _pair(name: str, renewal: int) -> certificates.Pair:
    """Cached, so that it is the same one for a name and a renewal."""
    return certificates.self_signed(name, "*.example.com", "localhost")


def fqdn(number: int) -> str:
    """The name of a host."""
    return f"host-{number}.example.com"


def gateway() -> list[Document]:
    """A Gateway for plain HTTP, with its class."""
    group = "gateway.networking.k8s.io/v1"
    spec = {"controllerName": "projectcontour.io/gateway-controller"}
    listener = {
        "name": "http",
        "protocol": "HTTP",
        "port": 80,
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    gateway = {"gatewayClassName": "contour", "listeners": [listener]}
    return [
        {"apiVersion": group, "kind": "GatewayClass", "metadata": {"name": "contour"}}
        | {"spec": spec},
        _document(group, "Gateway", "gateway", 0, {"spec": gateway}),
    ]


def http_route(number: int, service: int, host: str | None = None, path: str = "/") -> Document:
    """An HTTPRoute on the Gateway, in the namespace of its Service."""
    reference = {"name": f"service-{service}", "port": 80}
    match = {"path": {"type": "PathPrefix", "value": path}}
    spec = {
        "parentRefs": [{"name": "gateway", "namespace": namespace(0)}],
        "hostnames": [host or f"route-{number}.example.com"],
        "rules": [{"matches": [match], "backendRefs": [reference]}],
    }
    name = f"route-{number}"
    return _document("gateway.networking.k8s.io/v1", "HTTPRoute", name, service, {"spec": spec})


def namespace(number: int) -> str:
    """The namespace of the objects with that number."""
    return f"team-{number % NAMESPACES}"


def allow_websockets(document: Document) -> Document:
    """The same object, whose routes, if any, allow WebSockets."""
    for route in document.get("spec", {}).get("routes", ()):
        route["enableWebsockets"] = True
    return document


def configuration(**spec: Any) -> Document:
    """The ContourConfiguration of an instance."""
    document = {"apiVersion": "projectcontour.io/v1alpha1", "kind": "ContourConfiguration"}
    metadata = {"name": "contour", "namespace": "projectcontour"}
    return document | {"metadata": metadata, "spec": spec}


def events(documents: Iterable[Document]) -> Iterator[Event]:
    """The documents, decoded as a provider would; those of a world are valid."""
    for document in documents:
        decoded = decode(document)
        if isinstance(decoded, UnknownKind):
            group, _, version = decoded.group_version.partition("/")
            decoded = foreign.decoded(foreign.kind(group, version, decoded.kind), document)
        if not isinstance(decoded, Decoded) or decoded.object is None:
            raise ValueError(f"the world holds a bad object: {decoded}")
        yield Event(decoded.kind, decoded.key, decoded.object)


def batch(*documents: Document, gone: Iterable[Document] = ()) -> Batch:
    """A batch that adds and removes objects at one moment."""
    removed = (it._replace(object=None) for it in events(gone))
    return Batch((*events(documents), *removed), {})


def write(folder: Path, documents: Iterable[Document], per_file: int) -> None:
    """Writes YAML files of so many documents each."""
    folder.mkdir(parents=True, exist_ok=True)
    rest = iter(documents)
    for number in itertools.count():
        some = list(itertools.islice(rest, per_file))
        if not some:
            return
        Path(folder, f"{number:05}.yaml").write_text(text(some))


def text(documents: Iterable[Document]) -> str:
    """The documents of one YAML file."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False)


def _rounded(number: int) -> int:
    return max(1, number // NAMESPACES) * NAMESPACES


def _proxy(name: str, number: int, spec: Document) -> Document:
    return _document("projectcontour.io/v1", "HTTPProxy", name, number, {"spec": spec})


def _document(version: str, kind: str, name: str, number: int, rest: Document) -> Document:
    metadata = {"name": name, "namespace": namespace(number)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata} | rest


_Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
