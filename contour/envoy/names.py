"""The names of resources: by identity or by content, never by a position in a list.

A name that does not depend on the content lets Envoy replace a resource in place. A cluster is
named by its content instead, because a replaced cluster would be warmed again. Elsewhere: the shard
of a host (`shards`).
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, cast

from contour.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    EXTENSION,
    LISTENER,
    RATE_LIMITS,
    ROUTE,
    RUNTIME_LAYER,
    SCOPE,
    SECRET,
    Name,
)
from crds.meta import NamespacedName, ObjectRef
from dag import nodes


def endpoints(port: nodes.ServicePort, health_port: int | nodes.ServicePort | None = None) -> Name:
    """The endpoints of a Service port, whatever the policies of the clusters that use them."""
    # It contains the port's name, too, so that each node has its own name; otherwise a renamed port
    # would remove its successor.
    name = "/".join(it for it in (*_of_port(port), port.port_name) if it)
    match health_port:
        case None:
            return Name(ENDPOINTS, name)
        case nodes.ServicePort():
            return Name(ENDPOINTS, f"{name}/health:{health_port.port}/{health_port.port_name}")
        case _:
            return Name(ENDPOINTS, f"{name}/health:{health_port}")


def endpoints_of(node: nodes.Cluster) -> Name:
    """The endpoints of a cluster: of its Service port, or of all of its members."""
    if not node.members:
        return endpoints(node.port, node.health_port)
    members = [(endpoints(it.port).name, *it) for it in node.members]
    dropped = () if node.dropped is None else (node.dropped,)
    digest = _digest(repr((members, node.health_port, *dropped)).encode())
    return Name(ENDPOINTS, "/".join(("shared", *_of_port(node.port), digest)))


def extension_endpoints(node: nodes.ExtensionCluster) -> Name:
    """The endpoints of the Services of an extension, and their shares."""
    digest = _digest(repr(node.services).encode())
    return Name(ENDPOINTS, f"extension/{node.name.namespace}/{node.name.name}/{digest}")


def cluster(node: nodes.AnyCluster, body: bytes) -> Name:
    """A cluster: where it leads, and a hash of everything else about it."""
    return Name(CLUSTER, f"{'/'.join(_path(node))}/{_digest(body)}")


def statistics(node: nodes.AnyCluster) -> str:
    """The name of a cluster in statistics, which does not change with its policies.

    Names of objects may have dots. For Envoy one would end the name, and the rest would be in that
    of each metric.
    """
    return "_".join(_path(node)).replace(".", "_")


def _path(node: nodes.AnyCluster) -> tuple[str, ...]:
    match node:
        case nodes.Cluster():
            return _of_port(node.port)
        case nodes.ExtensionCluster():
            return ("extension", *node.name)
        case nodes.LocalCluster():
            return ("local", node.path.rpartition("/")[2])


def _of_port(port: nodes.ServicePort) -> tuple[str, ...]:
    kind = () if port.kind == "Service" else (port.kind.lower(),)
    return (*kind, *port.service, str(port.port))


def _digest(content: bytes, size: int = 5) -> str:
    return blake2b(content, digest_size=size).hexdigest()


def trust(key: nodes.Trust) -> Name:
    """Authorities and revocations; renewing one changes the content under the same name."""
    parts = ["+".join("/".join(it) for it in key.authorities)]
    if key.revocations is not None:
        parts.append("/".join(("revocations", *key.revocations)))
    if key.lists:
        parts += ("lists", "+".join("/".join(it) for it in key.lists))
    return Name(SECRET, "/".join(("trust", *parts)))


def secret(key: NamespacedName) -> Name:
    """A certificate; renewing it changes the content under the same name."""
    return Name(SECRET, f"{key.namespace}/{key.name}")


def login(source: ObjectRef, part: str) -> Name:
    """A secret of the logins of a policy; renewing it changes the content under the same name."""
    return Name(SECRET, f"login/{source.namespace}/{source.name}/{part}")


def credential(source: ObjectRef) -> Name:
    """What a filter puts into requests; renewing it changes the content under the same name."""
    return Name(SECRET, f"credential/{source.namespace}/{source.name}")


SYSTEM_TRUST = Name(SECRET, "system-trust")
"""The authorities of Envoy's own machine."""
METRICS_PAIR = Name(SECRET, "metrics-tls-certificate")
METRICS_TRUST = Name(SECRET, "metrics-ca-certificate")
"""Files on Envoy's machine, for the listener of its metrics."""

OWN_SECRETS = frozenset({SYSTEM_TRUST.name, METRICS_PAIR.name, METRICS_TRUST.name})
"""The names of secrets of no object. They have no slash, for a namespace may have any name."""


RUNTIME = Name(RUNTIME_LAYER, "dynamic")
"""The runtime, called as in bootstraps that Contour's users know."""


def extension(name: str) -> Name:
    """The configuration of a filter has the name of the filter."""
    return Name(EXTENSION, name)


@lru_cache(maxsize=1024)
def listener(name: str) -> Name:
    """A listener has the name that the rules give it."""
    return Name(LISTENER, name)


@lru_cache(maxsize=65536)
def routes(name: str) -> Name:
    """A RouteConfiguration."""
    return Name(ROUTE, name)


def route(host: str, match: bytes) -> str:
    """A route: its host, and a hash of its match. No route of another host has the same name."""
    return f"{host}/{_digest(match)}"


def scope(name: str) -> Name:
    """A scope has the name of the RouteConfiguration that it leads to."""
    return Name(SCOPE, name)


def bucket(at: nodes.HostKey, route: nodes.Route) -> str:
    """A bucket, in which the requests of one rule of a route, on one listener and host, are
    counted."""
    origin = "/".join(route.origin)
    return f"{origin}/{_digest(repr((at, (origin, route.rule))).encode(), 16)}"


def limit_rule(owner: ObjectRef, rule: str) -> str:
    """A rule of a RateLimitFilter or BackendTrafficPolicy, for the rate limit service.

    The name of a filter has no kind in front, which is unambiguous, since no namespace has the name
    of a kind.
    """
    kind = "" if owner.kind == _FILTER else f"{owner.kind}/"
    return f"{kind}{owner.key}/{rule}"


_FILTER = "RateLimitFilter"

LIMITS = Name(RATE_LIMITS, "limits")
"""The configuration of rate limit services: a head, and a part for each rule."""


def limit(owner: ObjectRef, rule: str) -> str:
    """The part of `LIMITS` that has a rule."""
    return f"limit/{limit_rule(owner, rule)}"


def limited_by(part: str) -> ObjectRef:
    """The filter or policy of such a part."""
    first, *rest = part.split("/")[1:]
    if first[:1].isupper():
        return ObjectRef(first, rest[0], rest[1])
    return ObjectRef(_FILTER, first, rest[0])


def chain(tls: nodes.Tls | None, stream: nodes.Stream | None = None) -> str:
    """A filter chain: its certificate, if any, and a hash of its content."""
    if stream is None and tls is not None:
        return f"{tls.secret.namespace}/{tls.secret.name}/{terms(tls).whole}"
    what = "passthrough" if tls is None else f"{tls.secret.namespace}/{tls.secret.name}/stream"
    return f"{what}/{_digest(_text((tls, stream)).encode())}"


def _text(of: object) -> str:
    """What `repr` says of a node, without `_LATER` fields that have their default.

    With them an upgrade of this program would give every chain of a stream a new name, and Envoy
    would drain its connections.
    """
    if isinstance(of, tuple):
        values = cast("tuple[object, ...]", of)
        names: Iterable[str] = getattr(values, "_fields", ())
        if names:
            return _called(values, zip(names, values, strict=True))
        return f"({', '.join(map(_text, values))}{',' * (len(values) == 1)})"
    if not is_dataclass(of):
        return repr(of)
    later = _LATER.get(type(of), ())
    said = ((it, getattr(of, it.name)) for it in fields(of) if it.repr)
    return _called(of, ((f.name, it) for f, it in said if f.name not in later or it != f.default))


def _called(of: object, values: Iterable[tuple[str, object]]) -> str:
    said = ", ".join(f"{name}={_text(it)}" for name, it in values)
    return f"{type(of).__qualname__}({said})"


_LATER: Mapping[type, Container[str]] = {
    nodes.Cluster: {"dropped"},
    nodes.Stream: {"longest", "handshake"},
    nodes.UpstreamTls: {"offers"},
}
"""The fields of nodes that are newer than the names of the chains of streams."""


class Terms(NamedTuple):
    """Hashes of TLS settings."""

    whole: str
    """Everything, the certificate too."""
    guard: str
    """Only the requirements for clients: certificates, versions, ciphers, and how their requests
    are read."""


def terms(tls: nodes.Tls) -> Terms:
    """The hashes of TLS settings."""
    asked = (tls.clients, tls.minimum, tls.ciphers, tls.traffic)
    return Terms(_digest(repr(tls).encode()), _digest(repr(asked).encode()))
