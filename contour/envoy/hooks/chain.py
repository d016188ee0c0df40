"""Takes a host through the hooks: what is asked, what is still open, and the result.

First each route that refers to objects of extensions, then the whole host; each through all
extensions with the hook, in their order. A question contains the previous answer, so later
questions are not asked while one is open. If an extension does not answer about a route, the route
stays as it was when all had answered. A route that never was served is closed alone, unless it
replaces others: then the whole host stays as it was.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

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
    """A host or listener after the hooks that have answered."""

    body: bytes | None
    """The result; None if it must not be served before an extension has answered."""
    is_whole: bool
    """Whether all extensions have answered, except about routes that are held back, closed or
    passed over."""
    is_changed: bool
    """Whether it differs from what it was before the first hook."""


class Lasting(Protocol):
    """The last good state of a host."""

    def route(self, index: int) -> bytes | None:
        """A route after the hook `Route`, when extensions last answered about it; None: they never
        did."""
        ...

    def is_replacing(self, index: int) -> bool:
        """Whether a route may replace one that its object had before."""
        ...


def is_asked(servers: Iterable[nodes.HookServer], referred: Iterable[tuple[Referred, ...]]) -> bool:
    """Whether any extension is asked about a host or its routes, which refer to these objects."""
    return any(referred) or any("VirtualHost" in it.hooks for it in servers)


@dataclass(slots=True)
class _State:
    """The state of a route, host or listener between two calls."""

    body: bytes | None = None
    """None if it has to wait for an answer."""
    is_whole: bool = True
    is_open: bool = False
    """Whether an extension has been asked and may still answer."""
    is_closed: bool = False
    """Whether an extension without `failOpen` has not answered."""


@dataclass(slots=True)
class HookCalls:
    """The calls of the hooks about one host or listener, in the order of the extensions."""

    servers: Sequence[nodes.HookServer]
    ask: Ask
    lasting: Lasting | None = None
    """None for a listener, which has no routes."""
    refused: frozenset[int] = frozenset()
    """The indexes of the routes whose answers must not be served, and that have a last good
    state."""
    asked: list[Question] = field(default_factory=list)
    answered: list[Question] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    """The indexes of the routes that stay as they were when extensions last answered about them."""
    closed: list[int] = field(default_factory=list)
    """The indexes of the routes that are closed."""
    passed: list[int] = field(default_factory=list)
    """The indexes of the routes that are served although an extension has not answered
    (`failOpen`)."""
    routed: bytes | None = None
    """The host after the hook `Route`."""

    def virtual_host(self, before: bytes, referred: Sequence[tuple[Referred, ...]]) -> Finished:
        """A VirtualHost after all hooks; `referred` are, for each route, the objects that its rule
        refers to."""
        state = _State(before)
        if any(referred):
            state.body = self.routed = self._with_routes(state, before, referred)
        self._each("VirtualHost", state)
        return _finished(before, state)

    def listener(self, before: bytes) -> Finished:
        """The template of a listener after all hooks."""
        state = _State(before)
        self._each("HTTPListener", state)
        return _finished(before, state)

    def _with_routes(
        self, state: _State, body: bytes, referred: Sequence[tuple[Referred, ...]]
    ) -> bytes | None:
        """The host with its routes after the hook `Route`; None if it has to wait. All routes are
        asked about at once."""
        host = pb.VirtualHost.FromString(body)
        routes = {
            index: self._route(host, index, objects)
            for index, objects in enumerate(referred)
            if objects
        }
        unfinished = [it for it, found in routes.items() if not self._is_finished(it, found)]
        if any(it.is_open for it in routes.values()) or any(map(self._must_wait, unfinished)):
            state.is_whole = False
            state.is_closed = any(it.is_closed for it in routes.values()) or bool(self.refused)
            return None
        for index, found in routes.items():
            self._write(host.routes[index], index, found)
        return encoding.encoded(host)

    def _is_finished(self, index: int, found: _State) -> bool:
        return found.is_whole and index not in self.refused

    def _must_wait(self, index: int) -> bool:
        """Whether a route that is not finished keeps its whole host waiting."""
        of = self.lasting
        return of is not None and of.route(index) is None and of.is_replacing(index)

    def _write(self, target: pb.Route, index: int, found: _State) -> None:
        if self._is_finished(index, found) and found.body is not None:
            target.ParseFromString(found.body)
        elif self.lasting is not None and (last := self.lasting.route(index)) is not None:
            self.held.append(index)
            target.ParseFromString(last)
        elif found.body is not None:
            self.passed.append(index)
            target.ParseFromString(found.body)
        else:
            self.closed.append(index)
            _close(target)

    def _route(self, host: pb.VirtualHost, index: int, objects: Iterable[Referred]) -> _State:
        state = _State(encoding.encoded(host.routes[index]))
        for server in self.servers:
            kinds = {(it.group, it.kind) for it in server.kinds}
            mine = tuple(it.content for it in objects if it.kind in kinds)
            if state.body is not None and mine and "Route" in server.hooks:
                domains = tuple(host.domains)
                self._next(state, server, Question(server.name, "Route", state.body, domains, mine))
        return state

    def _each(self, hook: nodes.Hook, state: _State) -> None:
        """Takes a host or listener through all extensions that have the hook."""
        for server in self.servers:
            if state.body is not None and hook in server.hooks:
                self._next(state, server, Question(server.name, hook, state.body))

    def _next(self, state: _State, server: nodes.HookServer, question: Question) -> None:
        """Applies the reply of a server to a state. While it has to wait for a reply, it has
        no body, because later extensions would see a wrong state."""
        self.asked.append(question)
        reply = self.ask(question)
        if isinstance(reply, Reply):
            self.answered.append(question)
            state.body = question.body if reply.body is None else reply.body
            return
        state.is_whole = False
        if reply is None:
            state.is_open, state.body = True, None
            state.is_closed |= not all(it.fail_open for it in self.servers)
            return
        self.told.append(Told(server.name, reply.why))
        if not server.fail_open:
            state.is_closed, state.body = True, None


def _finished(before: bytes, state: _State) -> Finished:
    if state.body is not None:
        return Finished(state.body, state.is_whole, state.body != before)
    return Finished(None if state.is_closed else before, is_whole=False, is_changed=False)


def _close(route: pb.Route) -> None:
    kept = pb.Route(name=route.name, match=route.match)
    kept.direct_response.status = 503
    route.CopyFrom(kept)
