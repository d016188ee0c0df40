"""Prepares Envoy's resources for people: joins shards, and lists routes one by one.

The hosts of a listener may be spread over many RouteConfigurations, its shards, each with a scope
that leads to it (`contour.envoy.shards`). Readers see one RouteConfiguration instead.
"""

import re
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from crds.raw import Raw, at, is_mapping, items, mapping

Sections = dict[str, list[Raw]]
"""Resources in the protobuf JSON mapping, by section (`contour.offline.rendering.SECTIONS`)."""

_MARKER = "no-such-host"
"""The virtual host that answers for hosts that are not in a shard
(`contour.envoy.shards.MARKER`)."""

_SHARD = re.compile(r"(.+?)(?:/wild)?/[0-9]+")

_SECTIONS = {
    "listener": ("listeners",),
    "route": ("routes", "scoped_routes"),
    "cluster": ("clusters",),
    "endpoint": ("endpoints",),
    "secret": ("secrets",),
}


class Route(NamedTuple):
    """One route in the order in which Envoy tries them, in words."""

    listener: str
    host: str
    match: str
    object: str
    """The name of the route: the object that it comes from, where there is one."""
    action: str


def listener(name: str, scopes: Container[str]) -> str:
    """The listener whose RouteConfiguration or shard has this name; there is a scope a shard."""
    found = _SHARD.fullmatch(name) if name in scopes else None
    return found[1] if found else name


def joined(shown: Sections) -> Sections:
    """The sections with one RouteConfiguration for each listener, in place of its shards and their
    scopes."""
    scopes = {_name(it) for it in shown["scoped_routes"]}
    heads: dict[str, Raw] = {}
    hosts: dict[str, dict[str, Raw]] = {}
    for table in shown["routes"]:
        if found := _hosts(table):
            name = listener(_name(table), scopes)
            heads.setdefault(name, table)
            hosts.setdefault(name, {}).update({_name(it): it for it in found})
    routes = [
        heads[name] | {"name": name, "virtual_hosts": [it for _, it in sorted(hosts[name].items())]}
        for name in sorted(heads)
    ]
    return shown | {"routes": routes, "scoped_routes": []}


def of_types(shown: Sections, types: Sequence[str]) -> Sections:
    """The sections of some types; all if none is named."""
    wanted = {section for it in types for section in _SECTIONS[it]}
    return {name: found for name, found in shown.items() if not wanted or name in wanted}


def of_host(shown: Sections, host: str) -> Sections:
    """The virtual hosts that can serve requests for a host, and nothing else."""
    serving = [
        (table, [it for it in _hosts(table) if _serves(it, host.lower())])
        for table in shown["routes"]
    ]
    return {"routes": [table | {"virtual_hosts": found} for table, found in serving if found]}


def _serves(virtual_host: Raw, host: str) -> bool:
    """Whether requests for the host can reach a virtual host (Envoy, `VirtualHost.domains`)."""
    return any(
        domain in ("*", host) or (domain.startswith("*") and host.endswith(domain[1:]))
        for domain in _domains(virtual_host)
    )


def _name(resource: Raw) -> str:
    return str(resource.get("name", ""))


def _domains(virtual_host: Raw) -> list[str]:
    return [str(it) for it in items(virtual_host.get("domains"))]


def _hosts(table: Raw) -> list[Raw]:
    found = [it for it in items(table.get("virtual_hosts")) if is_mapping(it)]
    return [it for it in found if _name(it) != _MARKER]


def routes(shown: Sections) -> Iterator[Route]:
    """Every route, in the order in which Envoy tries those of a host."""
    for table in shown["routes"]:
        for host in _hosts(table):
            names = ", ".join(_domains(host))
            for it in map(mapping, items(host.get("routes"))):
                match = _match(mapping(it.get("match")))
                yield Route(_name(table), names, match, _name(it), _action(it))


_PATHS = (
    ("prefix", ("prefix",)),
    ("path", ("path",)),
    ("prefix", ("path_separated_prefix",)),
    ("regex", ("safe_regex", "regex")),
)


def _match(match: Raw) -> str:
    paths = [f"{kind} {it}" for kind, where in _PATHS if (it := at(match, *where)) is not None]
    conditions = [it for it in items(match.get("headers")) if not _is_everywhere(it)]
    headers = [f"header {at(it, 'name')}" for it in conditions]
    parameters = [f"query {at(it, 'name')}" for it in items(match.get("query_parameters"))]
    return ", ".join((*(paths or ["any path"]), *headers, *parameters))


def _action(route: Raw) -> str:
    if "direct_response" in route:
        return f"answer {at(route, 'direct_response', 'status')}"
    if "redirect" in route:
        return f"redirect {_redirect(mapping(route['redirect']))}".rstrip()
    weighted = items(at(route, "route", "weighted_clusters", "clusters"))
    if weighted:
        return ", ".join(f"{at(it, 'name')} ({at(it, 'weight') or 0})" for it in weighted)
    return str(at(route, "route", "cluster") or "other")


def _redirect(redirect: Raw) -> str:
    scheme = redirect.get("scheme_redirect", "https" if redirect.get("https_redirect") else "")
    parts = {
        "scheme": scheme,
        "host": redirect.get("host_redirect"),
        "port": redirect.get("port_redirect"),
        "path": redirect.get("path_redirect") or redirect.get("prefix_rewrite"),
    }
    code = redirect.get("response_code")
    return ", ".join((*([str(code)] if code else []), *(f"{k} {v}" for k, v in parts.items() if v)))


def _is_everywhere(header: object) -> bool:
    """Whether it is the condition of all routes that name no method: any method but TRACE."""
    return at(header, "name") == ":method" and bool(at(header, "invert_match"))
