"""How the settings of a port for its clients differ between two worlds, and whom that lets in."""

from collections.abc import Iterator
from dataclasses import fields

from crds.meta import ObjectRef
from dag import hosts, nodes
from dag.comparison import Difference, Harm
from dag.comparison.effects import shown
from dag.evaluation import guards
from dag.evaluation.places import World, client_address, client_traffic
from dag.gateway import clientports
from dag.gateway.envoypolicies import clienttls


def differences(
    before: World,
    after: World,
    key: nodes.ListenerKey,
    old: nodes.ClientSettings | None,
    new: nodes.ClientSettings | None,
) -> Iterator[Difference]:
    """Each setting that differs; new settings drain the connections of the port."""
    origins = _policies(before, after, key)
    is_opened = opens(before, after, key)
    one, other = _settings(old), _settings(new)
    for name in one:
        if one[name] != other[name]:
            harm: Harm = "unguarded" if name == "address" and is_opened else "drained"
            texts = (shown(one[name]), shown(other[name]))
            place = nodes.HostKey(*key, "")
            yield Difference(place, "client traffic", name, *texts, origins, harm)


def opens(
    before: World,
    after: World,
    at: nodes.ListenerKey,
    old: nodes.SecureHost | None = None,
    new: nodes.SecureHost | None = None,
) -> bool:
    """Whether clients may pass a guard by another address than before, since it is found in another
    way. `old` and `new`: behind TLS."""
    one, other = _address(before, at, old), _address(after, at, new)
    if one == other:
        return False
    return (one.fails_closed and not other.fails_closed) or _is_guarded(before, at)


def _address(
    world: World, at: nodes.ListenerKey, host: nodes.SecureHost | None
) -> nodes.ClientAddress:
    return client_address(world, client_traffic(world, at, host))


def _settings(found: nodes.ClientSettings | None) -> dict[str, object]:
    """All settings by their names, which no two have in common."""
    sockets = found.sockets if found is not None else nodes.Sockets()
    traffic = (found.traffic if found is not None else None) or nodes.ClientTraffic()
    return {it.name: getattr(part, it.name) for part in (sockets, traffic) for it in fields(part)}


def _policies(before: World, after: World, key: nodes.ListenerKey) -> tuple[ObjectRef, ...]:
    found = (it.answer(clientports.holding, key) for it in (before, after))
    held = {it.policy for it in found if it is not None and it.policy is not None}
    return tuple(ObjectRef(clienttls.KIND, *it) for it in sorted(held))


def _is_guarded(world: World, at: nodes.ListenerKey) -> bool:
    """Whether the address of a client decides over requests of a listener."""
    return any(
        _asks_for_address(guards.in_force(host.policies, route.policies))
        for key, host in world.answers(hosts.virtual_host)
        if host is not None and nodes.ListenerKey(key.fleet, key.listener) == at
        for route in host.routes
    )


def _asks_for_address(found: nodes.Policies) -> bool:
    if isinstance(found.ip_filter, nodes.IpFilter):
        return True
    return isinstance(found.access, nodes.Access) and any(it.ranges for it in found.access.rules)
