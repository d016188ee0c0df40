"""The HTTP filters of every connection, in the order in which a request meets them.

The list of filters depends only on the settings, never on the hosts, because a changed chain drains
its connections and hosts share chains. First come the scripts that find the table of a request and
check what it may do (`scripts`); then the filters of the Gateway's listeners on this port, after
which Envoy chooses the route again; then the filters that hosts use (`slots`).

The filters of listeners are the exception: they depend on a Gateway. No route can disable them, so
they also run for requests without a route, and no request to a host can bypass them. The same holds
for filters of a ClientTrafficPolicy (`clienttraffic`), which come before all others.
"""

from collections.abc import Iterator

from envoy.config.core.v3 import config_source_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as pb,
)
from google.protobuf.message import Message

from contour.envoy import encoding, names, scripts, slots
from contour.envoy.conditional import for_host
from contour.envoy.guards import authorization, frames
from contour.envoy.policy import Downstream
from dag import nodes

ROUTER = "envoy.filters.http.router"


OF_LISTENERS = "contour.listener/"
"""The prefix of the names of listeners' filters."""


def plain(listener: str, policy: Downstream) -> Iterator[pb.HttpFilter]:
    """For plain HTTP."""
    yield _table(listener, policy)
    yield _filter(scripts.ADMISSION, scripts.plain())
    yield from _of_listeners(policy)
    yield from shared(policy)


def secure(listener: str, policy: Downstream, tls: nodes.Tls) -> Iterator[pb.HttpFilter]:
    """For TLS connections with a known server name."""
    yield from _clients(tls)
    yield _table(listener, policy)
    yield _filter(scripts.ADMISSION, scripts.secure(names.terms(tls)))
    yield from _of_listeners(policy)
    yield from shared(policy)


def default(listener: str, policy: Downstream, tls: nodes.Tls) -> Iterator[pb.HttpFilter]:
    """For TLS connections without a known server name."""
    yield from _clients(tls)
    yield _table(listener, policy)
    yield _filter(scripts.ADMISSION, scripts.default(names.terms(tls)))
    yield from _of_listeners(policy)
    yield from shared(policy)


def _of_listeners(policy: Downstream) -> Iterator[pb.HttpFilter]:
    """The filters that a request passes before it is routed, each only for its listener."""
    framed = any(it.authorization.protocol == "grpc" for it in policy.filters)
    for name, content in frames.before() if framed else ():
        yield _filter(OF_LISTENERS + name, content)
    for it in policy.filters:
        cluster = policy.names[it.authorization.cluster]
        content = authorization.always(it.authorization, cluster)
        yield _filter(OF_LISTENERS + it.name, for_host(it.host, it.exceptions, content))
    for name, content in frames.after() if framed else ():
        yield _filter(OF_LISTENERS + name, content)


def _table(listener: str, policy: Downstream) -> pb.HttpFilter:
    """The script that names the table of a request's host, where there are many tables."""
    script = scripts.table(listener) if policy.sharded else scripts.hosts()
    return _filter(scripts.TABLE, script)


def _clients(tls: nodes.Tls) -> Iterator[pb.HttpFilter]:
    """The script that refuses clients without a certificate, where Envoy accepts any certificate or
    none."""
    clients = tls.clients
    if clients is not None and clients.accepts_untrusted and not clients.is_optional:
        yield _filter(scripts.CERTIFICATE, scripts.certificate())


def shared(policy: Downstream) -> Iterator[pb.HttpFilter]:
    """The filters that follow in all chains of all listeners; the router is the last one."""
    for name, content in slots.installed(policy):
        if isinstance(content, config_source_pb2.ExtensionConfigSource):
            yield pb.HttpFilter(name=name, config_discovery=content)
        else:
            yield _filter(name, content)
    yield _filter(ROUTER, router_pb2.Router())


def _filter(name: str, content: Message) -> pb.HttpFilter:
    return pb.HttpFilter(name=name, typed_config=encoding.packed(content))
