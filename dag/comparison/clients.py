"""How the settings of a port for its clients differ between two worlds, and whom that lets in."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import fields
from itertools import islice

from crds.meta import ObjectRef
from dag import classicclaims, hosts, nodes
from dag.comparison import Difference, Harm
from dag.comparison.effects import shown
from dag.evaluation import guards
from dag.evaluation.places import World, client_address, client_traffic, settings_of
from dag.gateway import clientports
from dag.gateway.envoypolicies import clienttls
from dag.values import hostnames


def differences(
    before: World,
    after: World,
    key: nodes.ListenerKey,
    old: nodes.ClientSettings | None,
    new: nodes.ClientSettings | None,
    guarded: Container[nodes.ListenerKey],
) -> Iterator[Difference]:
    """Each setting that differs; new settings drain the connections of the port. `guarded`: the
    listeners before on which addresses of clients decide."""
    origins = _policies(before, after, key)
    is_guarded = key in guarded
    opening = {
        "address": _opens(*_addresses(before, after, key), is_guarded=is_guarded),
        "proxy_protocol": is_guarded and _lets_in(_protocol(before, old), _protocol(after, new)),
    }
    one, other = _settings(old), _settings(new)
    for name in one:
        if one[name] != other[name]:
            harm: Harm = "unguarded" if opening.get(name) else "drained"
            texts = (shown(one[name]), shown(other[name]))
            place = nodes.HostKey(*key, "")
            yield Difference(place, "client traffic", name, *texts, origins, harm)


def opens_host(
    before: World,
    after: World,
    key: nodes.HostKey,
    old: nodes.SecureHost | None,
    new: nodes.SecureHost | None,
) -> bool:
    """Whether clients may pass a guard of a host behind TLS by another address than before, since
    it is found in another way."""
    listener = nodes.ListenerKey(key.fleet, key.listener)
    is_guarded = any(map(_is_guarded, _served(before, key)))
    return _opens(*_addresses(before, after, listener, old, new), is_guarded=is_guarded)


def guarded_listeners(world: World) -> frozenset[nodes.ListenerKey]:
    """The listeners on which the address of a client decides over requests."""
    return frozenset(
        nodes.ListenerKey(key.fleet, key.listener)
        for key, host in world.answers(hosts.virtual_host)
        if host is not None and _is_guarded(host)
    )


def _opens(one: nodes.ClientAddress, other: nodes.ClientAddress, *, is_guarded: bool) -> bool:
    if one == other:
        return False
    return is_guarded or (one.fails_closed and not other.fails_closed)


def _lets_in(old: nodes.ProxyProtocol, new: nodes.ProxyProtocol) -> bool:
    """Whether a change of the PROXY protocol gives clients another address than before."""
    return old != new and (old, new) != ("optional", "required")


def _protocol(world: World, found: nodes.ClientSettings | None) -> nodes.ProxyProtocol:
    asked = found.sockets.proxy_protocol if found is not None else None
    return asked or ("required" if settings_of(world).edge.use_proxy_protocol else "off")


def _served(world: World, key: nodes.HostKey) -> Iterator[nodes.VirtualHost]:
    """The virtual hosts for requests on the TLS connections of a host: its own or that of a wider
    one; on those for unknown server names, also the hosts that serve clients without one."""
    names: list[Iterable[str]] = [hostnames.covering(key.host)]
    if key.host == hostnames.EVERY:
        names += [(it,) for it in world.bucket(classicclaims.FALLBACKS, key.host)]
    for each in names:
        found = (world.answer(hosts.virtual_host, key._replace(host=it)) for it in each)
        yield from islice((it for it in found if it is not None), 1)


def _addresses(
    before: World,
    after: World,
    at: nodes.ListenerKey,
    old: nodes.SecureHost | None = None,
    new: nodes.SecureHost | None = None,
) -> tuple[nodes.ClientAddress, nodes.ClientAddress]:
    """How the address of a client is found. `old` and `new`: behind TLS."""
    return _address(before, at, old), _address(after, at, new)


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
    found = (it.answer(clientports.port_policy, key) for it in (before, after))
    held = {it.policy for it in found if it is not None and it.policy is not None}
    return tuple(ObjectRef(clienttls.KIND, *it) for it in sorted(held))


def _is_guarded(host: nodes.VirtualHost) -> bool:
    """Whether the address of a client decides over requests of a host."""
    return any(_asks_for_address(guards.in_force(host.policies, it.policies)) for it in host.routes)


def _asks_for_address(found: nodes.Policies) -> bool:
    if isinstance(found.ip_filter, nodes.IpFilter):
        return True
    return isinstance(found.access, nodes.Access) and any(it.ranges for it in found.access.rules)
