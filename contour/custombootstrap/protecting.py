"""The parts of a fleet's rendered bootstrap that must stay, and why.

Both are compared as protobuf messages: neither the order of fields nor the spelling of a default
makes a difference.

| part | why it must stay |
|---|---|
| `dynamic_resources` | everything that is served comes through them |
| the cluster `contour` | the control plane: its address, and TLS in both directions |
| `config_sources` of other control planes, and their clusters `contour:AUTHORITY` | names of \
their authorities are asked for there; others may be added |
| `node.id`, `node.cluster` | by them the control plane knows what to serve |
| the layers `dynamic` and `hardening` of `layered_runtime` | limits of connections come through \
the first; the second has the size of regular expressions that rules count on |
| the cluster `envoy-admin` | readiness and metrics are read through it |
| the listener `monitoring`, where there is one | the same |
| `admin` | without it nobody can drain Envoy; it may be a TCP port of the loopback interface |
| statistics of listeners and requests | readiness and draining are read from them (`statistics`) |

`node` may be left out, since one text serves many fleets.
"""

import ipaddress
from collections.abc import Iterable, Iterator
from typing import TypeVar

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import address_pb2, config_source_pb2
from envoy.config.listener.v3 import listener_pb2

from contour import monitoring
from contour.custombootstrap.comparing import compared
from dag.rawconfig.content import Remark

Bootstrap = bootstrap_pb2.Bootstrap
Named = TypeVar("Named", cluster_pb2.Cluster, listener_pb2.Listener, bootstrap_pb2.RuntimeLayer)

_MOST_TOLD = 5


def completed(rendered: Bootstrap, found: Bootstrap) -> None:
    """Adds what one text cannot say for several fleets: the identity of the node. If the
    administration interface has another address, its cluster leads there."""
    if not found.node.id and not found.node.cluster:
        found.node.id, found.node.cluster = rendered.node.id, rendered.node.cluster
    usual = _named(rendered.static_resources.clusters, monitoring.CLUSTER)
    for it in found.static_resources.clusters:
        if it == usual:
            it.CopyFrom(_leading(it, found.admin))


def differences(rendered: Bootstrap, found: Bootstrap) -> list[Remark]:
    """The first few changes of protected parts, each with the path of the field."""
    return [*_differences(rendered, found)][:_MOST_TOLD]


def _differences(rendered: Bootstrap, found: Bootstrap) -> Iterator[Remark]:
    yield from compared("dynamic_resources", rendered.dynamic_resources, found.dynamic_resources)
    for source in rendered.config_sources:
        yield from _asked(source, found)
    if found.node.id != rendered.node.id:
        yield Remark("node.id", f"must stay {rendered.node.id!r}, not {found.node.id!r}")
    if found.node.cluster != rendered.node.cluster:
        wanted, is_ = rendered.node.cluster, found.node.cluster
        yield Remark("node.cluster", f"must stay {wanted!r}, not {is_!r}")
    yield from _administration(rendered, found)
    static, ours = found.static_resources, rendered.static_resources
    for cluster in ours.clusters:
        wanted_one = cluster
        if cluster.name == monitoring.CLUSTER:
            wanted_one = _leading(cluster, found.admin)
        yield from _kept("static_resources.clusters", wanted_one, static.clusters)
    for listener in ours.listeners:
        yield from _kept("static_resources.listeners", listener, static.listeners)
    for layer in rendered.layered_runtime.layers:
        yield from _kept("layered_runtime.layers", layer, found.layered_runtime.layers)


def _asked(wanted: config_source_pb2.ConfigSource, found: Bootstrap) -> Iterator[Remark]:
    """The differences of the source for the names of an authority."""
    (authority,) = wanted.authorities
    kept = next((it for it in found.config_sources if authority in it.authorities), None)
    return compared(f"config_sources[authority={authority.name}]", wanted, kept)


def _kept(path: str, wanted: Named, every: Iterable[Named]) -> Iterator[Remark]:
    return compared(f"{path}[name={wanted.name}]", wanted, _named(every, wanted.name))


def _named(every: Iterable[Named], name: str) -> Named | None:
    return next((it for it in every if it.name == name), None)


def _administration(rendered: Bootstrap, found: Bootstrap) -> Iterator[Remark]:
    if not found.admin.HasField("address"):
        yield Remark("admin.address", "must not be removed: without it nobody can drain Envoy")
    elif found.admin.address != rendered.admin.address and not _is_local(found.admin.address):
        usual = rendered.admin.address.pipe.path
        text = f"must stay the socket {usual}, or be a TCP port of the loopback interface"
        yield Remark("admin.address", f"{text}: whoever reaches it can stop Envoy")


def _is_local(address: address_pb2.Address) -> bool:
    socket = address.socket_address
    is_tcp = socket.protocol == address_pb2.SocketAddress.TCP and socket.port_value > 0
    try:
        return is_tcp and ipaddress.ip_address(socket.address).is_loopback
    except ValueError:
        return False


def _leading(cluster: cluster_pb2.Cluster, admin: bootstrap_pb2.Admin) -> cluster_pb2.Cluster:
    """The cluster of the administration interface, for this address of the interface."""
    result = cluster_pb2.Cluster()
    result.CopyFrom(cluster)
    if admin.HasField("address"):
        endpoint = result.load_assignment.endpoints[0].lb_endpoints[0].endpoint
        endpoint.address.CopyFrom(admin.address)
        if admin.address.WhichOneof("address") == "pipe":
            endpoint.address.pipe.ClearField("mode")  # matters only where the socket is made
    return result
