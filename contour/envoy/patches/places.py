"""The resources that can be patched, and which fields must stay so that they can be served.

Patches may change guards: their authors have full power over the fleet. The fields that must stay
are those by which a resource is found and divided into parts.
"""

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb
from envoy.config.route.v3 import route_pb2
from google.protobuf.message import Message

from contour.envoy import encoding
from contour.envoy.hooks import templates
from contour.envoy.patches import applying
from contour.envoy.patches.applying import Kind, Patched
from dag.patches.policies import Patch


def _same(pointer: str) -> str:
    return pointer


def _host_refusal(before: Message, after: Message) -> str:
    assert isinstance(before, route_pb.VirtualHost)
    assert isinstance(after, route_pb.VirtualHost)
    if (before.name, before.domains) != (after.name, after.domains):
        return "changes the name or the domains of the virtual host, which have to stay"
    if not encoding.is_readable(route_pb2.RouteConfiguration(virtual_hosts=[after])):
        return f"makes a virtual host that {encoding.TOO_DEEP}"
    return ""


HOST = Kind(route_pb.VirtualHost, _host_refusal, _same)
"""A virtual host."""


def host(body: bytes, patches: tuple[Patch, ...]) -> Patched:
    """A RouteConfiguration with nothing but one host, after all its patches."""
    inner = route_pb2.RouteConfiguration.FromString(body).virtual_hosts[0]
    found = applying.applied(HOST, encoding.encoded(inner), patches)
    layers = (it._replace(body=_table(it.body)) for it in found.layers)
    return found._replace(layers=tuple(layers), plain=body)


def _table(host: bytes) -> bytes:
    result = route_pb2.RouteConfiguration()
    result.virtual_hosts.add().ParseFromString(host)
    return encoding.encoded(result)


def _cluster_refusal(before: Message, after: Message) -> str:
    assert isinstance(before, cluster_pb2.Cluster)
    assert isinstance(after, cluster_pb2.Cluster)
    if before.name and before.name != after.name:
        return "changes the name of the cluster, which has to stay"
    is_eds = after.type == cluster_pb2.Cluster.EDS
    if is_eds and before.eds_cluster_config != after.eds_cluster_config:
        return "asks for endpoints by EDS that nobody has"
    return ""


CLUSTER = Kind(cluster_pb2.Cluster, _cluster_refusal, _same)
"""A cluster."""


def added(name: str) -> Kind:
    """A cluster of this name that patches add: there is nothing before the first of them."""

    def refusal(before: Message, after: Message) -> str:
        assert isinstance(after, cluster_pb2.Cluster)
        if after.name != name:
            return f"leaves no cluster with the name {name!r}, under which it is added"
        return _cluster_refusal(before, after)

    return CLUSTER._replace(refusal=refusal)


_DEFAULT_CHAIN = "/default_filter_chain"


def _listener_pointer(pointer: str) -> str:
    """The only chain of a template can also be addressed as the default chain, where Envoy Gateway
    puts the chain of a plain listener."""
    if pointer == _DEFAULT_CHAIN or pointer.startswith(f"{_DEFAULT_CHAIN}/"):
        return f"/filter_chains/0{pointer.removeprefix(_DEFAULT_CHAIN)}"
    return pointer


def _listener_refusal(before: Message, after: Message) -> str:
    assert isinstance(before, listener_pb2.Listener)
    assert isinstance(after, listener_pb2.Listener)
    return next(templates.uncuttable(before, after), "")


LISTENER = Kind(listener_pb2.Listener, _listener_refusal, _listener_pointer)
"""The template of a listener."""
