"""What the dashboard shows, read from the answers that the instance has.

The cost of a page depends on the number of hosts or objects; nothing is computed anew. Long
listings are made in steps, between which other tasks run on the event loop. No field of a Secret is
shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from contour.answers.subjects import FILE
from contour.complaints import Locate
from contour.instance import Instance
from contour.status import listing, rendering
from contour.status.rows import Row, State
from crds.meta import ObjectRef
from crds.raw import Raw, is_mapping, items, mapping
from dag import hosts, listeners, nodes, services
from dag.evaluation import guards
from dag.findings import routes as routewords

ROUTES = 30
"""Routes of a host that are shown at a time."""
_ENDPOINTS = 8
"""Endpoints of a Service that are drawn; the others are counted."""


Numbered = tuple[int, nodes.Route]
"""A route of a host, and its number, from 0."""


class HostRow(NamedTuple):
    """One host in the list of hosts."""

    key: nodes.HostKey
    protocol: str
    port: int
    routes: int
    origins: tuple[ObjectRef, ...]
    state: State


class BackendRow(NamedTuple):
    """A backend that gets a share of a route's requests."""

    service: ObjectRef | None
    port: int
    share: str
    endpoints: tuple[str, ...]
    left_out: str


class RouteRow(NamedTuple):
    """One route of a host, in the words of the table."""

    number: int
    match: str
    conditions: tuple[str, ...]
    action: str
    guards: tuple[str, ...]
    origin: ObjectRef
    backends: tuple[BackendRow, ...]


class ConditionRow(NamedTuple):
    """A condition of an object's status, and the part of the object that it is about."""

    of: str
    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Host:
    """A host with its routes."""

    row: HostRow
    routes: tuple[RouteRow, ...]
    count: int
    """The number of its routes that a search finds, shown or not."""
    tls: str
    problems: tuple[Row, ...]
    states: Mapping[ObjectRef, State]
    """Of its objects."""


@dataclass(frozen=True, slots=True)
class Views:
    """What the pages show of an instance."""

    instance: Instance

    def locate(self) -> Locate:
        """Locates the fields of objects in files."""
        return self.instance.locator()

    def fleets(self) -> Sequence[str]:
        """The names of the fleets of Envoys, sorted."""
        return sorted(self.instance.controller.fleets)

    def listeners(self) -> Sequence[tuple[nodes.ListenerKey, nodes.Listener]]:
        """All listeners, sorted."""
        found = self.instance.controller.engine.answers(listeners.listener)
        return sorted((key, it) for key, it in found if it is not None)

    def host_keys(self, search: str) -> Iterator[nodes.HostKey | None]:
        """The hosts whose name contains the text, or one of whose objects has a name that does."""
        engine, wanted = self.instance.controller.engine, search.lower()
        for key, found in engine.answers(hosts.virtual_host):
            origins = found.origins if found is not None else ()
            yield key if found is not None and _fits(wanted, key.host, origins) else None
        for key, it in engine.answers(hosts.secure_host):
            is_stream = it is not None and it.stream is not None
            yield key if is_stream and _fits(wanted, key.host, it.origins if it else ()) else None

    def host_row(self, key: nodes.HostKey) -> HostRow | None:
        """One row of the list; None if there is no such host (any more)."""
        engine = self.instance.controller.engine
        found, secure = engine.answer(hosts.virtual_host, key), _secure(self.instance, key)
        at = engine.answer(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
        if found is None and (secure is None or secure.stream is None):
            return None
        origins = found.origins if found is not None else secure.origins if secure else ()
        protocol, port = (at.protocol, at.port) if at is not None else ("", 0)
        states = {self.row(it).state for it in origins}
        state: State = "error" if "error" in states else "warning" if "warning" in states else "ok"
        return HostRow(key, protocol, port, len(found.routes) if found else 0, origins, state)

    def routes(self, key: nodes.HostKey, search: str) -> Iterator[Numbered | None]:
        """The routes of a host that contain the text."""
        found, wanted = self._virtual_host(key), search.lower()
        for it in enumerate(found.routes if found is not None else ()):
            yield it if not wanted or _fits(wanted, *_words(it[1])) else None

    def host(self, row: HostRow, shown: Sequence[Numbered], count: int, told: list[Row]) -> Host:
        """A host: some of its routes, of which a search finds so many, and the located rows of its
        objects."""
        found, secure = self._virtual_host(row.key), _secure(self.instance, row.key)
        policies = found.policies if found is not None else None
        routes = [self._route(*it, policies) for it in shown]
        if secure is not None and secure.stream is not None:
            routes.append(self._stream(secure.stream, row))
        problems = tuple(it for it in told if it.told)
        states: dict[ObjectRef, State] = {it.subject: it.state for it in told}
        return Host(row, tuple(routes), count, _tls(secure), problems, states)

    def _virtual_host(self, key: nodes.HostKey) -> nodes.VirtualHost | None:
        return self.instance.controller.engine.answer(hosts.virtual_host, key)

    def row(self, subject: ObjectRef) -> Row:
        """The state of an object or a file, `ok` if nothing is known of the object. Raises
        LookupError if the file has no fault (any more)."""
        controller = self.instance.controller
        if subject.kind == FILE:
            rows = {it.subject: it for it in controller.board.file_rows()}
            if subject not in rows:
                raise LookupError(f"nothing is told of the file {subject.name}")
            return rows[subject]
        return listing.row(controller.board, controller.engine, subject)

    def is_known(self, subject: ObjectRef) -> bool:
        """Whether there is such an object."""
        controller = self.instance.controller
        return listing.is_known(controller.board, controller.engine, subject)

    def subjects(self, search: str, *, bad: bool) -> Iterator[ObjectRef | None]:
        """The objects and files that contain the text, unsorted; with `bad` only those with
        problems."""
        controller, wanted = self.instance.controller, search.lower()
        for row in controller.board.file_rows():
            yield row.subject if _fits(wanted, "", (row.subject,)) else None
        for it in listing.known(controller.board, controller.engine):
            if it is None or not _fits(wanted, "", (it,)) or (bad and self.row(it).state == "ok"):
                yield None
            else:
                yield it

    def conditions(self, subject: ObjectRef) -> tuple[ConditionRow, ...]:
        """All conditions of an object's status."""
        found = self.instance.controller.board.told.get(subject)
        return tuple(_conditions("", rendering.status(found))) if found is not None else ()

    def hosts_of(self, subject: ObjectRef) -> Iterator[nodes.HostKey | None]:
        """The hosts that depend on an object: it takes part in them, or their routes or connections
        lead to it."""
        engine = self.instance.controller.engine
        for key, found in engine.answers(hosts.virtual_host):
            yield key if found is not None and _depends(found, subject) else None
        for key, it in engine.answers(hosts.secure_host):
            yield key if _connects(it, subject) else None

    def backends_of(self, subject: ObjectRef) -> Iterator[BackendRow | None]:
        """The endpoints of a Service by its port, as far as routes lead there."""
        for port, _ in self.instance.controller.engine.answers(services.endpoints):
            fits = subject.kind == "Service" and port.service == subject.key
            yield self._backend(port, "") if fits else None

    def _route(self, number: int, route: nodes.Route, host: nodes.Policies | None) -> RouteRow:
        in_force = guards.in_force(host, route.policies)
        return RouteRow(
            number + 1,
            routewords.shown(route.match),
            tuple(_conditions_of(route.match)),
            _action(route.action),
            tuple(_guards(in_force)),
            route.origin,
            tuple(self._backends(route.action)),
        )

    def _stream(self, stream: nodes.Stream, row: HostRow) -> RouteRow:
        shares = [(it.cluster, it.weight) for it in stream.shares]
        origin = row.origins[0] if row.origins else ObjectRef("", "", "")
        found = tuple(self._shares(shares))
        return RouteRow(1, "all bytes", (), "leads connections to", (), origin, found)

    def _backends(self, action: nodes.Action) -> Iterator[BackendRow]:
        if isinstance(action, nodes.Forward):
            yield from self._shares([(it.cluster, it.weight) for it in action.backends])
            for it in action.mirrors:
                yield self._backend(it.cluster.port, "copies")

    def _shares(self, found: Sequence[tuple[nodes.Cluster | None, int]]) -> Iterator[BackendRow]:
        total = sum(weight for _, weight in found)
        for cluster, weight in found:
            share = f"{weight / total:.0%}" if total else "nothing"
            if cluster is None:
                yield BackendRow(None, 0, share, (), "there is no such backend")
            elif cluster.dns is not None:
                names = tuple(it.shown for it in cluster.names)
                yield self._backend(cluster.port, share)._replace(endpoints=names)
            else:
                yield from self._members(cluster, weight / total if total else 0)

    def _members(self, cluster: nodes.Cluster, share: float) -> Iterator[BackendRow]:
        members = cluster.members or (nodes.Member(cluster.port),)
        whole = sum(it.weight for it in members if not it.is_fallback)
        for it in members:
            part = f"{share * it.weight / whole:.0%}" if share and it.weight else "nothing"
            yield self._backend(it.port, "fallback" if it.is_fallback else part)

    def _backend(self, port: nodes.ServicePort, share: str) -> BackendRow:
        found = self.instance.controller.engine.answer(services.endpoints, port)
        addresses = found.endpoints if found is not None else ()
        shown = tuple(it.shown for it in addresses[:_ENDPOINTS])
        if len(addresses) > _ENDPOINTS:
            shown += (f"and {len(addresses) - _ENDPOINTS} more",)
        left_out = found.left_out if found is not None else ""
        return BackendRow(port.owner, port.port, share, shown, left_out)


def _secure(instance: Instance, key: nodes.HostKey) -> nodes.SecureHost | None:
    return instance.controller.engine.answer(hosts.secure_host, key)


def _fits(wanted: str, text: str, origins: Iterable[ObjectRef]) -> bool:
    if not wanted or wanted in text.lower():
        return True
    return any(wanted in f"{it.kind} {it.namespace}/{it.name}".lower() for it in origins)


def _words(route: nodes.Route) -> tuple[str, tuple[ObjectRef, ...]]:
    """The text that a search looks at: the match, and the objects that take part."""
    leads_to = sorted(_owners_of(route))
    return routewords.shown(route.match), (route.origin, *leads_to)


def _depends(host: nodes.VirtualHost, subject: ObjectRef) -> bool:
    return subject in host.origins or any(subject in _owners_of(it) for it in host.routes)


def _connects(host: nodes.SecureHost | None, subject: ObjectRef) -> bool:
    """Whether connections that are forwarded unread are an object's, or lead to it."""
    if host is None or host.stream is None:
        return False
    leads_to = (it.cluster.port.owner for it in host.stream.shares if it.cluster)
    return subject in host.origins or subject in leads_to


def _owners_of(route: nodes.Route) -> Iterator[ObjectRef]:
    if isinstance(route.action, nodes.Forward):
        yield from (it.cluster.port.owner for it in route.action.backends if it.cluster)
        yield from (it.cluster.port.owner for it in route.action.mirrors)


def _conditions_of(match: nodes.Match) -> Iterator[str]:
    for it in match.headers:
        yield f"header {it.name} {_compared(it.value, is_inverted=it.inverted)}"
    for query in match.queries:
        yield f"query parameter {query.name} {_compared(query.value)}"
    for cookie in match.cookies:
        yield f"cookie {cookie.name} {cookie.operator} {cookie.value}"
    if match.is_grpc:
        yield "a gRPC request"
    if match.drawn is not None:
        yield f"{match.drawn / 1_000_000:.2%} of the requests"


def _compared(value: nodes.ValueMatch, *, is_inverted: bool = False) -> str:
    negation = "not " if is_inverted else ""
    return f"{negation}{value.operator} {value.value}".strip()


def _action(action: nodes.Action) -> str:
    match action:
        case nodes.Respond():
            return f"answers {action.status}"
        case nodes.Redirect():
            parts = (action.scheme, action.host, action.port, action.full_path, action.prefix)
            changes = " ".join(str(it) for it in parts if it is not None)
            return f"redirects with {action.status} to {changes}".removesuffix(" to ")
        case nodes.Forward():
            return "forwards" if action.backends else f"answers {action.missing}"


_GUARDS: Mapping[str, str] = {
    "cors": "CORS",
    "ip_filter": "IP filter",
    "jwt": "JWT",
    "authorization": "external authorization",
    "local_rate_limit": "local rate limit",
    "rate_limits": "global rate limits",
    "limits": "limits that a service counts",
    "body_limit": "body limit",
    "error_pages": "error pages",
    "fault": "faults on purpose",
    "compressors": "compression of its own",
    "session": "session persistence",
    "csrf": "CSRF",
    "authentication": "API keys or passwords",
    "login": "login",
    "access": "authorization",
}
"""The policies of a route, by field."""


def _guards(policies: nodes.Policies) -> Iterator[str]:
    for it in fields(policies):
        found = getattr(policies, it.name)
        if found is not None and found != nodes.OFF:
            yield _GUARDS[it.name]


def _tls(secure: nodes.SecureHost | None) -> str:
    if secure is None:
        return ""
    if secure.tls is None:
        return "passed through to the backend, not terminated here"
    clients = ", clients need a certificate" if secure.tls.clients else ""
    return f"terminated with Secret {secure.tls.secret}, TLS {secure.tls.minimum} or newer{clients}"


def _conditions(of: str, found: Raw) -> Iterator[ConditionRow]:
    """The conditions anywhere in a status, each with the part of the object that it is about."""
    for it in map(mapping, items(found.get("conditions"))):
        texts = (str(it.get(name, "")) for name in ("type", "status", "reason", "message"))
        yield ConditionRow(of, *texts)
    for name, value in found.items():
        if name == "conditions":
            continue
        for part in items(value):
            if is_mapping(part):
                yield from _conditions(_part(of, name, part), part)


def _part(of: str, field: str, part: Raw) -> str:
    reference = mapping(part.get("parentRef") or part.get("ancestorRef"))
    name = part.get("name") or reference.get("name") or ""
    return f"{of} {field.removesuffix('s')} {name}".strip()
