"""How two worlds differ: fleets, listeners, TLS, and the requests of each host."""

from collections.abc import Hashable, Iterator
from dataclasses import fields
from typing import TypeVar

from dag import fleets, listeners, nodes
from dag import hosts as merged
from dag.comparison import Difference, Harm, Uncompared, clients, effects, hosts
from dag.configuration.reading import Settings
from dag.engine.view import Query
from dag.evaluation.places import World, settings_of
from dag.gateway import clientports, filteredlisteners

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def differences(before: World, after: World) -> Iterator[Difference | Uncompared]:
    """Every difference, and what is not compared: by fleet, then by listener, then by host."""
    yield from _of_settings(settings_of(before), settings_of(after))
    for fleet in _changed(before, after, fleets.fleet):
        yield from _of_fleet(*fleet)
    for listener in _changed(before, after, listeners.listener):
        yield from _of_listener(*listener)
    yield from _of_ports(before, after)
    for filters in _changed(before, after, filteredlisteners.filters):
        yield from _of_filters(*filters)
    for secure in _changed(before, after, merged.secure_host):
        yield from _of_tls(before, after, *secure)
    for host, _, _ in _changed(before, after, merged.virtual_host):
        yield from hosts.differences(before, after, host)


def _changed(
    before: World, after: World, query: Query[K, V]
) -> Iterator[tuple[K, V | None, V | None]]:
    """The keys whose answers differ, sorted."""
    old, new = dict(before.answers(query)), dict(after.answers(query))
    for key in sorted(old.keys() | new.keys(), key=str):
        if old.get(key) != new.get(key):
            yield key, old.get(key), new.get(key)


def _of_settings(old: Settings, new: Settings) -> Iterator[Difference]:
    """Differences of settings that hold for everything, by their names."""
    for it in fields(Settings):
        one, other = getattr(old, it.name), getattr(new, it.name)
        if one != other:
            texts = (effects.shown(one), effects.shown(other))
            yield Difference(nodes.HostKey("", "", ""), "configuration", it.name, *texts)


def _of_fleet(
    name: str, old: fleets.Fleet | None, new: fleets.Fleet | None
) -> Iterator[Difference]:
    """What is made in a cluster; changed ports or Service addresses replace no pods."""
    place = nodes.HostKey(name, "", "")
    if old is None or new is None:
        harm: Harm | None = "closed" if new is None else None
        told = ("made", "") if new is None else ("", "made")
        yield Difference(place, f"fleet {name}", "Envoys", *told, harm=harm)
        return
    for it in fields(fleets.Fleet):
        one, other = getattr(old, it.name), getattr(new, it.name)
        if one != other:
            harm = "replaced" if it.name in _OF_PODS and new.is_managed else None
            texts = (effects.shown(one), effects.shown(other))
            yield Difference(place, f"fleet {name}", it.name, *texts, harm=harm)


_OF_PODS = frozenset({"workload", "details", "labels", "annotations"})


def _of_listener(
    key: nodes.ListenerKey, old: nodes.Listener | None, new: nodes.Listener | None
) -> Iterator[Difference]:
    place = nodes.HostKey(*key, "")
    if old is None or new is None:
        found = old or new
        what = f"port {found.port}" if found is not None else ""
        harm: Harm | None = "closed" if new is None else None
        told = (_protocol(old), _protocol(new))
        origins = found.origins if found is not None else ()
        yield Difference(place, what, "listener", *told, origins, harm)
        return
    for it in fields(nodes.Listener):
        one, other = getattr(old, it.name), getattr(new, it.name)
        if one != other and it.name != "origins":
            texts = (effects.shown(one), effects.shown(other))
            harm = "drained" if it.name in ("bind_port", "address", "protocol") else None
            if it.name == "stream":
                harm = _harm_of_stream(old.stream, new.stream)
            yield Difference(place, f"port {new.port}", it.name, *texts, new.origins, harm)


def _of_ports(before: World, after: World) -> Iterator[Difference]:
    """What clients of a port that stays are told to do differently."""
    ports = [
        it
        for it in _changed(before, after, clientports.settings)
        if all(world.answer(listeners.listener, it[0]) is not None for world in (before, after))
    ]
    guarded = clients.guarded_listeners(before) if ports else ()
    for it in ports:
        yield from clients.differences(before, after, *it, guarded)


def _of_filters(
    key: nodes.ListenerKey,
    old: tuple[nodes.ListenerFilter, ...] | None,
    new: tuple[nodes.ListenerFilter, ...] | None,
) -> Iterator[Difference]:
    """Differences of listener filters, by Gateway listener and number."""
    before, after = ({it.name: it for it in side or ()} for side in (old, new))
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one != other:
            found = other or one
            origins = (found.origin,) if found is not None else ()
            harm: Harm = "unguarded" if other is None else "drained"
            texts = (effects.shown(one), effects.shown(other))
            yield Difference(
                nodes.HostKey(*key, ""), f"filter {name}", "server", *texts, origins, harm
            )


def _protocol(found: nodes.Listener | None) -> str:
    return found.protocol if found is not None else ""


def _of_tls(
    old_world: World,
    new_world: World,
    key: nodes.HostKey,
    old: nodes.SecureHost | None,
    new: nodes.SecureHost | None,
) -> Iterator[Difference]:
    """How TLS of a host differs. New terms drain its connections; a new certificate does not."""
    origins = hosts.origins(old, new)
    before, after = (it.tls if it is not None else None for it in (old, new))
    stream = [it.stream if it is not None else None for it in (old, new)]
    texts = tuple(map(effects.shown, stream))
    if texts[0] != texts[1]:
        harm = _harm_of_stream(*stream)
        yield Difference(key, "connections", "forwarded to", texts[0], texts[1], origins, harm)
    if before is None or after is None:
        if before != after:
            harm = _harm_of_end(before, stream[1]) if after is None else None
            told = (_terminated(before), _terminated(after))
            yield Difference(key, "TLS", "certificate", *told, origins, harm)
        return
    for it in fields(nodes.Tls):
        one, other = getattr(before, it.name), getattr(after, it.name)
        if one != other:
            harm = _harm_of_tls(it.name, other)
            if it.name == "traffic" and clients.opens_host(old_world, new_world, key, old, new):
                harm = "unguarded"
            told = (effects.shown(one), effects.shown(other))
            yield Difference(key, "TLS", it.name, *told, origins, harm)


def _harm_of_stream(old: nodes.Stream | None, new: nodes.Stream | None) -> Harm | None:
    """The harm to connections that Envoy forwards without looking into them."""
    if old is None or not _leads(old):
        return None
    if new is None or not _leads(new):
        return "closed"
    before, after = (it.guards or nodes.StreamGuards() for it in (old, new))
    names = (it.name for it in fields(nodes.StreamGuards))
    is_lost = any(getattr(before, it) and not getattr(after, it) for it in names)
    return "unguarded" if is_lost else None


def _leads(stream: nodes.Stream) -> bool:
    return any(it.weight and it.cluster is not None for it in stream.shares)


def _harm_of_end(before: nodes.Tls | None, after: nodes.Stream | None) -> Harm | None:
    """The harm where TLS is terminated no more: Envoy checks no certificate of clients."""
    if after is None:
        return "closed"
    is_checked = before is not None and before.clients is not None
    return "unguarded" if is_checked and _leads(after) else None


def _terminated(found: nodes.Tls | None) -> str:
    return f"Secret {found.secret}" if found is not None else ""


def _harm_of_tls(field: str, after: object) -> Harm:
    return "unguarded" if field == "clients" and after is None else "drained"
