"""The HTTP filters of every connection, in the order in which a request meets them.

Which filters there are depends on the settings alone, never on the hosts: a changed chain drains
its connections, and hosts share chains. What a filter does to a request is said by its route and
virtual host (`guards`), so all of these come after `routing`, which chooses both.

What changes the form of answers comes first, so that it sees what all others made of them (answers
run backwards). Error pages come early, for the same reason.
Preflights are answered before anybody is refused, and what costs least refuses first.
"""

from collections.abc import Iterator

from envoy.extensions.filters.http.grpc_web.v3 import grpc_web_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as pb,
)
from google.protobuf.message import Message

from contour.envoy import compression, encoding, names, scripts
from contour.envoy.guards import (
    addresses,
    authorization,
    bodies,
    cookies,
    cors,
    errorpages,
    frames,
    places,
    ratelimits,
    sessions,
    tokens,
)
from contour.envoy.policy import Downstream
from dag import nodes


def plain(listener: str, policy: Downstream) -> Iterator[pb.HttpFilter]:
    """For plain HTTP."""
    yield _table(listener, policy)
    yield _filter(scripts.TABLE, scripts.plain())
    yield from _guards(policy)


def secure(listener: str, policy: Downstream, tls: nodes.Tls) -> Iterator[pb.HttpFilter]:
    """For TLS connections that named a host we know."""
    yield from _clients(tls)
    yield _table(listener, policy)
    yield _filter(scripts.TABLE, scripts.secure(names.terms(tls)))
    yield from _guards(policy)


def default(listener: str, policy: Downstream, tls: nodes.Tls) -> Iterator[pb.HttpFilter]:
    """For TLS connections that named none."""
    yield from _clients(tls)
    yield _table(listener, policy)
    yield _filter(scripts.TABLE, scripts.default(names.terms(tls)))
    yield from _guards(policy)


def _table(listener: str, policy: Downstream) -> pb.HttpFilter:
    """Names the table of a request's host, where there are many."""
    script = scripts.table(listener) if policy.sharded else scripts.hosts()
    return _filter(scripts.TABLE, script)


def _clients(tls: nodes.Tls) -> Iterator[pb.HttpFilter]:
    """Envoy asks for a certificate that it does not check, and goes on without one."""
    clients = tls.clients
    if clients is not None and clients.accepts_untrusted and not clients.is_optional:
        yield _filter(scripts.CERTIFICATE, scripts.certificate())


def _guards(policy: Downstream) -> Iterator[pb.HttpFilter]:
    if policy.edge.compression != "disabled":
        yield _filter(compression.NAME, compression.installed(policy.edge.compression))
    yield _filter("envoy.filters.http.grpc_web", grpc_web_pb2.GrpcWeb())
    yield _filter(errorpages.NAME, places.installed())
    yield _filter(cors.NAME, cors.installed())
    yield _filter(addresses.NAME, addresses.installed())
    yield _filter(ratelimits.LOCAL, ratelimits.installed_local())
    yield pb.HttpFilter(name=tokens.NAME, config_discovery=tokens.discovered())
    yield _filter(frames.RESTORED, frames.restored())
    for name, content in authorization.installed():
        yield _filter(name, content)
    yield _filter(frames.NOTED, frames.noted())
    if (service := policy.rate_limits) is not None:
        cluster = policy.names[service.cluster]
        yield _filter(ratelimits.GLOBAL, ratelimits.installed_global(service, cluster))
    yield _filter(bodies.NAME, places.installed())
    yield _filter(cookies.NAME, cookies.installed())
    yield _filter(sessions.NAME, sessions.installed())
    yield _filter("envoy.filters.http.router", router_pb2.Router())


def _filter(name: str, content: Message) -> pb.HttpFilter:
    return pb.HttpFilter(name=name, typed_config=encoding.packed(content))
