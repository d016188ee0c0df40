"""The names of hosts beside their own: aliases, and those that are redirected to them.

As in ingress-nginx, a host and a name that is redirected come before an alias; of two hosts with
the same alias, the one with the lesser name has it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from contour.conversion.ingressnginx.given import PREFIX
from contour.conversion.ingressnginx.routes import Place
from contour.conversion.told import Told
from crds.raw import items


class Aliases(NamedTuple):
    """The aliases of all hosts, and the messages about those that are left out."""

    of: Mapping[str, list[str]]
    """By host; no name is that of two."""
    told: list[Told]


def aliases(hosts: Mapping[str, list[Place]]) -> Aliases:
    """The aliases of all hosts; `hosts`: their places, in order of precedence."""
    redirected = ((www(host, places), host) for host, places in hosts.items())
    taken = {other: f"is redirected to {host}" for other, host in redirected if other}
    taken |= dict.fromkeys(hosts, "is a host of its own")
    found: dict[str, list[str]] = {}
    told: list[Told] = []
    for host in sorted(hosts):
        found[host] = _of(host, hosts[host], taken, told)
        taken |= dict.fromkeys(found[host], f"is an alias of {host}")
    return Aliases(found, told)


def _of(
    host: str, places: Iterable[Place], taken: Mapping[str, str], told: list[Told]
) -> list[str]:
    """The aliases of the first Ingress that has any, without the names that are taken."""
    named = each_ingress(it for it in places if not it.given.is_canary)
    having = [it for it in named if "aliases" in it.piece.host]
    for it in having[1:]:
        _tell(told, it, f"{host} has the aliases of {having[0].given}, which comes first")
    found = [str(name) for it in having[:1] for name in items(it.piece.host["aliases"])]
    for name in dict.fromkeys(found):
        if name in taken:
            _tell(told, having[0], f"{name} {taken[name]}")
    return [name for name in dict.fromkeys(found) if name not in taken]


def _tell(told: list[Told], place: Place, text: str) -> None:
    told.append(Told(str(place.given), f"{PREFIX}server-alias", text))


def www(host: str, places: Iterable[Place]) -> str:
    """The name that is redirected to a host, with `www.` or without it; empty if none is."""
    if "*" in host or not any(it.given.is_on("from-to-www-redirect") for it in places):
        return ""
    return host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"


def each_ingress(places: Iterable[Place]) -> list[Place]:
    """One place of each Ingress."""
    return list({it.given.ingress.metadata.key: it for it in reversed([*places])}.values())[::-1]
