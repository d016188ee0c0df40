"""What a host that comes back from extensions must not say.

The whole answer is checked, also the content of `Any` if its type is known. A cluster that the
host's own routes do not lead to may be removed at any time, so naming one closes the route; so does
choosing the cluster by a header. A filter that no chain has would not run, so what it guards would
be open. No reply may change what is Contour's own: the guards of the host, the header that finds
its table. Envoy may still refuse what is accepted here: then the part is quarantined as any other.
"""

from collections.abc import Collection, Container, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from envoy.config.route.v3 import route_components_pb2 as pb
from google.protobuf import any_pb2, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from contour.envoy import definitions, encoding, forwarding, shards, slots


class Allowed(NamedTuple):
    """What a host may name."""

    clusters: Container[str]
    filters: Container[str]
    """Filters that its listener has, and that it may configure."""
    taken: Collection[str]
    """Filters that its author has configured: extensions must not configure them."""
    guarded: Mapping[str, bytes]
    """The RouteMatch of each route that has guards of its own: the answer must contain these
    routes."""


class Refusal(NamedTuple):
    """A part of a host that is closed."""

    route: str
    """The name of the route; empty for the whole host."""
    why: str


INSTALLED = frozenset(it.name for it in slots.SLOTS)
"""The filters that every chain has and that routes can configure."""


def closed(body: bytes, asked: bytes, allowed: Allowed) -> tuple[bytes, tuple[Refusal, ...]]:
    """The host with its refused parts closed (500), and the reasons. Routes that are as they were
    in the question are not checked, because they are ours."""
    host = pb.VirtualHost.FromString(body)
    ours = {it.name: it for it in pb.VirtualHost.FromString(asked).routes}
    whole = next(_host_refusals(host, allowed), None)
    if whole is not None:
        for route in host.routes:
            _close(route)
        kept = pb.VirtualHost(name=host.name, domains=host.domains, routes=host.routes)
        return encoding.encoded(kept), (Refusal("", whole),)
    refused: list[Refusal] = []
    for route in host.routes:
        if route == ours.get(route.name):
            continue
        why = next(_refusals(route, allowed), None)
        if why is not None:
            _close(route)
            refused.append(Refusal(route.name, why))
    return (encoding.encoded(host) if refused else body), tuple(refused)


def _close(route: pb.Route) -> None:
    kept = pb.Route(name=route.name, match=route.match)
    kept.direct_response.status = 500
    route.CopyFrom(kept)


def _host_refusals(host: pb.VirtualHost, allowed: Allowed) -> Iterator[str]:
    if host.HasField("matcher"):
        yield "sets matcher, in which routes have no guards"
    yield from _missing(host, allowed.guarded)
    rest = pb.VirtualHost()
    rest.CopyFrom(host)
    rest.ClearField("routes")
    yield from _refusals(rest, allowed)


def _missing(host: pb.VirtualHost, guarded: Mapping[str, bytes]) -> Iterator[str]:
    """Refuses an answer that leaves out or changes a guarded route: a wider route would take its
    requests."""
    matches = {it.name: it.match for it in host.routes}
    for name, match in guarded.items():
        if name not in matches:
            yield f"leaves out the route {name}, which has guards"
        elif encoding.encoded(matches[name]) != match:
            yield f"changes which requests the route {name} takes, which has guards"


def refusals(found: Message, clusters: Container[str], otherwise: str) -> Iterator[str]:
    """The reasons to refuse any part of a reply: it uses what is Contour's own, or names other
    clusters than these; `otherwise` ends the sentence about such a cluster."""
    for it in messages(found):
        yield from _own(it)
        yield from _clusters(it, clusters, otherwise)


def _refusals(found: pb.VirtualHost | pb.Route, allowed: Allowed) -> Iterator[str]:
    otherwise = "which the host does not lead to, and which no extension adds"
    yield from refusals(found, allowed.clusters, otherwise)
    for it in messages(found):
        if isinstance(it, pb.VirtualHost | pb.Route | pb.WeightedCluster.ClusterWeight):
            yield from _filters(it.typed_per_filter_config, allowed)


def _own(found: Message) -> Iterator[str]:
    metadata = getattr(found, "filter_metadata", None)
    for name in (shards.FILTER, shards.ADMISSION):
        if metadata is not None and name in metadata:
            yield f"writes metadata of {name}, which is Contour's own"
    for field, value in found.ListFields():
        for it in value if field.is_repeated and field.message_type is None else [value]:
            if isinstance(it, str) and it.lower() == shards.HEADER:
                yield f"names the header {shards.HEADER}, which is Contour's own"


def _filters(told: Collection[str], allowed: Allowed) -> Iterator[str]:
    for name in sorted(told):
        if name in allowed.taken:
            yield f"changes what the filter {name} is told by the host's author"
        elif name not in allowed.filters:
            yield f"configures the filter {name}, which no listener has"


_NAMING = frozenset({"cluster", "cluster_name"})
_CHOOSING = frozenset(
    {"cluster_header", "cluster_specifier_plugin", "inline_cluster_specifier_plugin"}
)


def _clusters(found: Message, known: Container[str], otherwise: str) -> Iterator[str]:
    for field, value in found.ListFields():
        if field.name in _CHOOSING and value:
            yield f"sets {field.name}, by which requests choose clusters themselves"
    for name in _named(found):
        if name not in known:
            yield f"names the cluster {name[:200]!r}, {otherwise}"


def clusters(found: Message) -> frozenset[str]:
    """The clusters that a message names, however deep."""
    return frozenset(name for it in messages(found) for name in _named(it))


def _named(found: Message) -> Iterator[str]:
    for field, value in found.ListFields():
        is_share = isinstance(found, pb.WeightedCluster.ClusterWeight) and field.name == "name"
        if (is_share or field.name in _NAMING) and isinstance(value, str):
            yield value


def messages(found: Message) -> Iterator[Message]:
    """The message and all those inside it, of which whoever read it has bounded the depth."""
    if isinstance(found, any_pb2.Any):
        inner = _unpacked(found)
        if inner is not None:
            yield from messages(inner)
        return
    yield found
    for field, value in found.ListFields():
        inner_type = field.message_type
        if inner_type is None:
            continue
        if inner_type.GetOptions().map_entry:
            held = inner_type.fields_by_name["value"].message_type
            values = value.values() if held is not None else ()
        else:
            values = value if field.is_repeated else (value,)
        for it in values:
            yield from messages(it)


def _unpacked(found: any_pb2.Any) -> Message | None:
    """The content of an `Any`; None if its type is not known here, which Envoy then has to
    check."""
    known = definitions.of(found.type_url.rpartition("/")[2])
    if known is None:
        return None
    result = _made(known)
    try:
        result.ParseFromString(found.value)
    except DecodeError:
        return None  # cannot happen: the client has decoded it before
    return result


def _made(of: Descriptor) -> Message:
    return _class(of)()


@lru_cache(maxsize=4096)
def _class(of: Descriptor) -> type[Message]:
    return message_factory.GetMessageClass(of)


NOWHERE = forwarding.NOWHERE
"""A cluster that routes may name although nobody has it."""
