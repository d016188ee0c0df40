"""The template of a listener: what extensions are asked about it, and what they must not answer.

There is one question about a listener, however many filter chains it has. It contains the head and
one chain, with what all its HTTP chains have in common (`contour.envoy.answered`). Extensions see
our filters and choose the order of theirs relative to them, but must return ours unchanged. What
the answer refers to must exist, and nothing may lead requests past our filters.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from envoy.config.listener.v3 import listener_components_pb2
from envoy.config.listener.v3 import listener_pb2 as pb
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from google.protobuf.message import DecodeError, Message

from contour.envoy import answered, connection_manager, encoding, listeners, quic
from contour.envoy import filters as http_filters
from contour.envoy.answered import Manager
from contour.envoy.hooks import trust
from contour.envoy.policy import Downstream
from dag import nodes

MOST_BYTES = 128 << 10
"""The size limit of an answer: each filter chain of the listener holds a copy."""


def template(node: nodes.Listener, policy: Downstream, *, is_quic: bool) -> bytes:
    """An HTTP listener as extensions see it."""
    head = quic.head(node, None) if is_quic else listeners.head(node, policy, {})
    result = pb.Listener.FromString(head)
    del result.filter_chains[:]
    is_secure = node.protocol == "HTTPS"
    manager = connection_manager.shared(node.name, policy, is_secure=is_secure)
    if is_quic:
        quic.write_protocol(manager)
    answered.write_filters(result.filter_chains.add(), manager, policy._replace(answer=None))
    return encoding.encoded(result)


def clusters(asked: bytes) -> frozenset[str]:
    """The clusters that a template names."""
    return trust.clusters(pb.Listener.FromString(asked))


class Allowed(NamedTuple):
    """What an answer may say."""

    clusters: Container[str]
    """The clusters that it may name: those of the template, and those that extensions have
    added."""
    is_scoped: bool
    """Whether the hosts of the listener are spread over several RouteConfigurations, to which
    scopes lead."""


class Checked(NamedTuple):
    """An answer that has been checked."""

    body: bytes | None
    """What may be served of it; None: nothing."""
    refused: tuple[str, ...] = ()
    """Why the answer, or a filter in it, is not served."""


def checked(asked: bytes, answer: bytes, allowed: Allowed) -> Checked:
    """An answer without filters that would have no effect, or the reason why none of it is
    served."""
    if len(answer) > MOST_BYTES:
        return Checked(None, (f"answers {len(answer)} bytes, of which {MOST_BYTES} are allowed",))
    before, after = pb.Listener.FromString(asked), pb.Listener.FromString(answer)
    why = next(_refusals(before, after, allowed), None)
    if why is not None:
        return Checked(None, (why,))
    return _without_idle_filters(after, allowed)


def _refusals(before: pb.Listener, after: pb.Listener, allowed: Allowed) -> Iterator[str]:
    if len(after.filter_chains) != 1:
        yield f"has {len(after.filter_chains)} filter chains, and was asked about one"
        return
    yield from _changed(before, after)
    yield from _changed_chain(after)
    mine, theirs = _manager(before), _manager(after)
    if theirs is None or mine is None:
        yield f"has no {answered.CONNECTION_MANAGER} as the last filter"
        return
    yield from _changed_manager(mine, theirs)
    otherwise = "which the listener does not have, and which no extension adds"
    yield from trust.refusals(after, allowed.clusters, otherwise)


def uncuttable(before: pb.Listener, after: pb.Listener) -> Iterator[str]:
    """Why a template cannot be cut into a head and chains again, whatever else it says."""
    if len(after.filter_chains) != 1:
        yield f"leaves {len(after.filter_chains)} filter chains, of which there has to be one"
        return
    yield from _different(before, after, _KEPT)
    yield from _changed_chain(after)
    manager = _manager(after)
    if manager is None:
        yield f"leaves no {answered.CONNECTION_MANAGER} as the last filter"
    elif routes := manager.WhichOneof("route_specifier"):
        yield f"sets {routes}, but where routes come from is Contour's own"


_KEPT = frozenset(
    {
        "name",
        "address",
        "additional_addresses",
        "api_listener",
        "bind_to_port",
        "default_filter_chain",
        "filter_chain_matcher",
        "internal_listener",
        "udp_listener_config",
        "use_original_dst",
    }
)
"""Fields of a listener that say which connections it takes, and which chain takes them."""


def _changed(before: pb.Listener, after: pb.Listener) -> Iterator[str]:
    yield from _different(before, after, _KEPT)
    yield from _ours("listener filter", before.listener_filters, after.listener_filters)


def _different(before: Message, after: Message, fields: Iterable[str]) -> Iterator[str]:
    one = {field.name: value for field, value in before.ListFields()}
    other = {field.name: value for field, value in after.ListFields()}
    for name in sorted(fields):
        if one.get(name) != other.get(name):
            yield f"changes {name}"


Filter = listener_components_pb2.ListenerFilter | hcm_pb2.HttpFilter


def _ours(what: str, before: Sequence[Filter], after: Sequence[Filter]) -> Iterator[str]:
    """Refuses an answer in which our filters are missing, changed or in another order."""
    names = {it.name for it in before}
    found = [it for it in after if it.name in names]
    for missing in sorted(names - {it.name for it in found}):
        yield f"leaves out the {what} {missing}"
    for it, other in zip(before, found, strict=False):
        if it != other:
            yield f"changes, moves or repeats the {what} {it.name}"
    if len(found) > len(before):
        yield f"has the {what} {found[-1].name} twice"


def _changed_chain(after: pb.Listener) -> Iterator[str]:
    rest = listener_components_pb2.FilterChain()
    rest.CopyFrom(after.filter_chains[0])
    rest.ClearField("filters")
    for field, _ in rest.ListFields():
        yield f"sets {field.name} of the filter chain, which each of the chains has of its own"


def _manager(of: pb.Listener) -> Manager | None:
    """The connection manager of the only chain; None if it is not the last filter."""
    filters = of.filter_chains[0].filters
    if not filters or filters[-1].name != answered.CONNECTION_MANAGER:
        return None
    try:
        return answered.manager_of(filters[-1])
    except DecodeError:
        return None


def _changed_manager(before: Manager, after: Manager) -> Iterator[str]:
    if routes := after.WhichOneof("route_specifier"):
        yield f"sets {routes}, but where routes come from is Contour's own"
    yield from _ours("filter", before.http_filters, after.http_filters)
    if after.http_filters[-1].name != before.http_filters[-1].name:
        yield f"has a filter behind {before.http_filters[-1].name}"
    names = {it.name for it in before.http_filters}
    for it in after.http_filters:
        if it.name in names:
            continue
        if it.name.startswith(_PREFIX) or it.name in trust.INSTALLED:
            yield f"adds the filter {it.name}, whose name is one of Contour's own"
        if it.HasField("config_discovery"):
            yield f"adds the filter {it.name} without its configuration (config_discovery)"
    for upgrade in after.upgrade_configs:
        if upgrade.filters:
            what = upgrade.upgrade_type[:200]
            yield f"gives upgrades to {what!r} filters of their own, among which no guard is"
    if any(it.name.startswith(_PREFIX) for it in after.early_header_mutation_extensions):
        yield "adds an early header mutation whose name is one of Contour's own"


_PREFIX = "contour."


def _without_idle_filters(found: pb.Listener, allowed: Allowed) -> Checked:
    """Removes filters that are disabled until a route enables them: with scopes, no route is known
    when Envoy decides which filters a request passes, so such a filter would never run. Hosts that
    need it are closed, because no listener has it."""
    manager = _manager(found)
    assert manager is not None, "it has been checked"
    idle = [it for it in manager.http_filters if it.disabled]
    if not idle or not allowed.is_scoped:
        return Checked(encoding.encoded(found))
    active = [it for it in manager.http_filters if not it.disabled]
    del manager.http_filters[:]
    manager.http_filters.extend(active)
    last = found.filter_chains[0].filters[-1]
    last.typed_config.CopyFrom(encoding.packed(manager))
    refused = tuple(
        f"adds the filter {it.name} with `disabled`, which would never run where the hosts of a "
        "listener are spread over tables; it runs with spec.envoy.listener.routing: Single"
        for it in idle
    )
    return Checked(encoding.encoded(found), refused)


def filters(body: bytes | None) -> frozenset[str]:
    """The filters that an answer adds for requests, which routes may configure."""
    if body is None:
        return frozenset()
    names = frozenset(it.name for it in answered.read(body).manager.http_filters)
    return names - trust.INSTALLED - {http_filters.ROUTER}
