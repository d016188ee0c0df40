"""The way of a host through the hooks: what is asked, how far it has come, what it is at the end.

First each route that refers to objects of extensions, then the whole host; each through all
extensions that have the hook, in their order. A question is built of the answer before it, so
what comes later is not asked yet while something is open. A route that an extension does not answer
for is closed alone, unless the whole host can stay as it was last served.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from envoy.config.route.v3 import route_components_pb2 as pb

from contour.envoy import encoding
from contour.envoy.hooks.questions import Question, Reply, Silence, Told
from dag import nodes

Ask = Callable[[Question], Reply | Silence | None]
"""The reply to a question, if there is one."""


class Referred(NamedTuple):
    """An object that the rule of a route refers to."""

    kind: tuple[str, str]
    """Its group and kind."""
    content: bytes
    """As JSON."""


class Finished(NamedTuple):
    """How far a host has come."""

    body: bytes | None
    """What it is now; None if it must not go out so: an extension has to answer first."""
    is_whole: bool
    """All extensions have answered."""
    is_changed: bool
    """It is not what it was before the first one."""


def is_asked(servers: Iterable[nodes.HookServer], referred: Iterable[tuple[Referred, ...]]) -> bool:
    """Whether any extension is asked about a host itself whose routes refer to these objects."""
    return any(referred) or any("VirtualHost" in it.hooks for it in servers)


@dataclass(slots=True)
class Way:
    """One host on its way."""

    servers: Sequence[nodes.HookServer]
    ask: Ask
    can_stay: Callable[[], bool]
    """Whether the host can stay as it was last served."""
    asked: list[Question] = field(default_factory=list)
    answered: list[Question] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    """The numbers of the routes that are closed alone."""
    _is_whole: bool = True
    _is_open: bool = False
    """An extension has just been asked."""
    _is_closed: bool = False
    """An extension that may not be passed over has not answered."""

    def through(self, before: bytes, referred: Sequence[tuple[Referred, ...]]) -> Finished:
        """A VirtualHost after all hooks; for each of its routes the objects that its rule refers
        to."""
        body = self._with_routes(before, referred) if any(referred) else before
        if body is not None:
            body = self._each("VirtualHost", body)
        return self._finished(before, body)

    def listener(self, before: bytes) -> Finished:
        """The template of a listener after all hooks."""
        return self._finished(before, self._each("HTTPListener", before))

    def _finished(self, before: bytes, body: bytes | None) -> Finished:
        if body is not None:
            return Finished(body, self._is_whole, body != before)
        return Finished(None if self._is_closed else before, is_whole=False, is_changed=False)

    def _with_routes(self, body: bytes, referred: Sequence[tuple[Referred, ...]]) -> bytes | None:
        """The host with what became of its routes; None if something has to be waited for."""
        host = pb.VirtualHost.FromString(body)
        return encoding.encoded(host) if self._routes(host, referred) else None

    def _routes(self, host: pb.VirtualHost, referred: Sequence[tuple[Referred, ...]]) -> bool:
        """Replaces the routes; whether nothing has to be waited for. All are asked at once."""
        failed: list[int] = []
        for index, (route, objects) in enumerate(zip(host.routes, referred, strict=True)):
            body = self._route(route, tuple(host.domains), objects) if objects else None
            if body is not None:
                route.ParseFromString(body)
            elif objects:
                failed.append(index)
        if failed and (self._is_open or self.can_stay()):
            return False
        for index in failed:
            _close(host.routes[index])
        self.closed = failed
        return True

    def _route(
        self, route: pb.Route, hostnames: tuple[str, ...], objects: Iterable[Referred]
    ) -> bytes | None:
        """What became of a route; None if something has to be waited for."""
        body: bytes | None = encoding.encoded(route)
        for server in self.servers:
            kinds = {(it.group, it.kind) for it in server.kinds}
            mine = tuple(it.content for it in objects if it.kind in kinds)
            if body is not None and mine and "Route" in server.hooks:
                body = self._next(server, Question(server.name, "Route", body, hostnames, mine))
        return body

    def _each(self, hook: nodes.Hook, body: bytes | None) -> bytes | None:
        """What became of a host or listener; None if something has to be waited for."""
        for server in self.servers:
            if body is not None and hook in server.hooks:
                body = self._next(server, Question(server.name, hook, body))
        return body

    def _next(self, server: nodes.HookServer, question: Question) -> bytes | None:
        """What a server makes of a resource. None if it has to be waited for: what comes later
        would be asked about something else than it is to see."""
        self.asked.append(question)
        reply = self.ask(question)
        if isinstance(reply, Reply):
            self.answered.append(question)
            return question.body if reply.body is None else reply.body
        self._is_whole = False
        if reply is None:
            self._is_open = True
            self._is_closed |= not all(it.fail_open for it in self.servers)
            return None
        self.told.append(Told(server.name, reply.why))
        if server.fail_open:
            return question.body
        self._is_closed = True
        return None


def _close(route: pb.Route) -> None:
    kept = pb.Route(name=route.name, match=route.match)
    kept.direct_response.status = 503
    route.CopyFrom(kept)
