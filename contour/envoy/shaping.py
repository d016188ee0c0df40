"""The tracked query for hosts that extensions modify: what is served until they have answered.

A host about which not all extensions have answered stays as it was when they last had, but for what
its authors have removed since. If an extension does not answer about a single route, or that answer
is refused, only that route stays as it was. What has no last good state is closed, or is served
unmodified if all extensions that have not answered have `failOpen`. If filters or clusters of
extensions are removed while something stays as it was, what needs them is closed.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from contour.envoy import listening, policy, routing, translating, virtual_hosts
from contour.envoy.hooks import chain, passed, questions, stripping, templates, trust
from contour.envoy.hooks.questions import Good, Shaped, TemplateKey, Told
from crds.meta import ObjectRef
from crds.records import replace
from dag import foreignobjects, hosts, nodes
from dag.configuration import settings
from dag.engine.view import View, query


@query
def stripped(view: View, key: nodes.HostKey) -> stripping.Stripped:
    """A host as extensions see it, for the question and for checking the answers."""
    node = view.ask(hosts.virtual_host, key)
    assert node is not None, "there is a host that is asked about"
    return stripping.stripped(node, _called(view, key, node))


def _called(view: View, key: nodes.HostKey, node: nodes.VirtualHost) -> dict[nodes.AnyCluster, str]:
    """The names of the clusters of a host. Clusters exist as long as they are asked for."""
    used = routing.clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    return {it: name.name for it, name in used.items()}


@questions.shaped.answer
def shaped(view: View, key: nodes.HostKey) -> Shaped | None:
    """A host as extensions want it."""
    node = view.ask(hosts.virtual_host, key)
    if node is None:
        return None
    servers = view.ask(settings.hook_servers, ())
    referred = [tuple(_referred(view, it)) for it in node.routes]
    if not chain.is_asked(servers, referred):
        found = Shaped(Good(node, None), origins=node.origins)
        return _gated(view, _Host(view, key, node), _Attempt(found, _known(view, key)))
    host = _Host(view, key, node)
    attempt = _attempted(host, servers, referred)
    gated = _gated(view, host, attempt)
    if gated.served is None or gated.until_then == "last" or not attempt.refused:
        return gated
    found = _without_refused(host, servers, referred, attempt)
    return found._replace(refused=attempt.found.answered)


@dataclass(slots=True)
class _Host:
    """A host and its last good state, which is read only where it is needed: its readers run again
    with each finished edit."""

    view: View
    key: nodes.HostKey
    node: nodes.VirtualHost

    @property
    def good(self) -> Good | None:
        """The last state about which all extensions have answered."""
        return self.view.read(questions.GOOD, self.key)

    def name(self, index: int) -> str:
        """The name of a route."""
        return stripping.identities(self.node)[index]

    def route(self, index: int) -> bytes | None:
        """A route after the hook `Route`, when extensions last answered about it; None: they never
        did."""
        good, name = self.good, self.name(index)
        if good is None or name in good.closed:
            return None
        body = good.routed
        if body is None:
            body = stripping.stripped(good.node, _called(self.view, self.key, good.node)).body
        return stripping.routes(body).get(name)

    def is_replacing(self, index: int) -> bool:
        """Whether a route may replace one that its object had before."""
        good, origin = self.good, self.node.routes[index].origin
        if good is None:
            return False
        return bool(_by_origin(good.node)[origin] - _by_origin(self.node)[origin])

    def closable(self) -> frozenset[str]:
        """The names of the routes that can be closed without harm, since they served no request
        before: new ones, and those that are closed already."""
        good = self.good
        if good is None:
            return frozenset(stripping.identities(self.node))
        names = enumerate(stripping.identities(self.node))
        known = {*stripping.identities(good.node)} - good.closed
        return frozenset(it for at, it in names if it not in known and not self.is_replacing(at))

    def with_held(self, held: Sequence[int]) -> nodes.VirtualHost:
        """The host with these routes as they were."""
        if not held or (good := self.good) is None:
            return self.node
        before = dict(zip(stripping.identities(good.node), good.node.routes, strict=True))
        routes = list(self.node.routes)
        for it in held:
            routes[it] = before[self.name(it)]
        return replace(self.node, routes=tuple(routes))


class _Attempt(NamedTuple):
    """A host as the answers about it want it, not yet checked for its clusters."""

    found: Shaped
    known: translating.Known
    """The clusters that it names; extensions may not have answered about them yet."""
    refusals: tuple[trust.Refusal, ...] = ()
    """The parts of it that are closed."""

    @property
    def refused(self) -> frozenset[str]:
        """The names of the routes whose answers are refused; an empty name for the whole host."""
        return frozenset(it.route for it in self.refusals)

    def messages(self, end: str) -> tuple[Told, ...]:
        """The messages about the refusals."""
        return _told((it.server for it in self.found.asked), self.refusals, end)


def _told(asked: Iterable[str], refusals: Sequence[trust.Refusal], end: str) -> tuple[Told, ...]:
    servers = ", ".join(sorted(set(asked)))
    places = ((f"in route {it.route}" if it.route else "in the host", it) for it in refusals)
    return tuple(Told(servers, f"{where} {it.why}{end}") for where, it in places)


_CLOSED = ", so it is answered with 500"


def _known(view: View, key: nodes.HostKey) -> translating.Known:
    return translating.Known(view, key.fleet, (trust.NOWHERE,))


def _gated(view: View, host: _Host, attempt: _Attempt) -> Shaped:
    """The host if extensions have also answered about its clusters, else as it was last served."""
    found, key = attempt.found, host.key
    if found.served is None or found.until_then == "last":
        return found
    names = _called(view, key, found.served.node).values()
    silent = translating.lacking(view, key.fleet, names, attempt.known, found.answered)
    if silent is None:
        return found
    return _waiting(host, found._replace(told=silent, origins=host.node.origins))


def _waiting(host: _Host, found: Shaped) -> Shaped:
    """The host as it was last served; closed if it never was."""
    found = found._replace(is_finished=False, is_good=False, until_then="unmodified", served=None)
    last = _last(host)
    if last is None:
        return found
    good, refused = last
    return found._replace(served=good, until_then="last", told=(*found.told, *refused))


def _attempted(
    host: _Host,
    servers: Sequence[nodes.HookServer],
    referred: Sequence[tuple[chain.Referred, ...]],
    refused: frozenset[int] = frozenset(),
) -> _Attempt:
    """The host after all hooks; the routes in `refused` stay as they were."""
    view, key = host.view, host.key
    asked = view.ask(stripped, key)
    calls = chain.HookCalls(servers, lambda it: view.read(questions.REPLIES, it.key), host, refused)
    end = calls.virtual_host(asked.body, referred)
    known = _known(view, key)
    found = Shaped(
        None, tuple(calls.asked), tuple(calls.answered), tuple(calls.told),
        end.is_whole, end.is_whole and not calls.passed, origins=host.node.origins,
    )  # fmt: skip
    if not end.is_whole and (waiting := _waiting(host, found)).served is not None:
        return _Attempt(waiting, known)
    if end.body is None:
        return _Attempt(found, known)
    found = _partly(host, calls, found)
    node = host.with_held(calls.held)
    if not end.is_changed and not calls.held:
        return _Attempt(found._replace(served=Good(node, None)), known)
    good, refusals = _checked(host, Good(node, end.body, routed=calls.routed), known)
    good = good._replace(closed=good.closed | frozenset(map(host.name, calls.closed)))
    return _Attempt(found._replace(served=good), known, refusals)


def _partly(host: _Host, calls: chain.HookCalls, found: Shaped) -> Shaped:
    """Notes which routes are not finished, and what is served for them."""
    waiting = (*calls.held, *calls.closed)
    if not waiting:
        return found._replace(is_finished=found.is_finished and not calls.passed)
    origins = sorted({host.node.routes[it].origin for it in (*waiting, *calls.passed)})
    found = found._replace(is_finished=False, origins=tuple(origins))
    return found._replace(until_then="partly" if calls.closed else "held")


def _without_refused(
    host: _Host,
    servers: Sequence[nodes.HookServer],
    referred: Sequence[tuple[chain.Referred, ...]],
    first: _Attempt,
) -> Shaped:
    """The host after refused answers: the routes stay as they were if they have been served, else
    the whole host does. What was never served, or cannot be served any more, is closed."""
    names = stripping.identities(host.node)
    routes = frozenset(
        it
        for it, objects in enumerate(referred)
        if objects and names[it] in first.refused and host.route(it) is not None
    )
    found, attempt = first.found, first
    if routes:
        attempt = _attempted(host, servers, referred, routes)
        attempt = attempt._replace(found=_after(first, _gated(host.view, host, attempt)))
        found = attempt.found
    if found.until_then == "last" or not attempt.refusals:
        return found
    last = _last(host)
    if last is None or last[1] or attempt.refused <= host.closable():
        origins = tuple(sorted({*found.origins, *_origins(host.node, attempt.refused)}))
        return found._replace(told=(*found.told, *attempt.messages(_CLOSED)), origins=origins)
    return _waiting(host, found._replace(told=(*found.told, *attempt.messages(""))))


def _origins(node: nodes.VirtualHost, names: frozenset[str]) -> Iterable[ObjectRef]:
    """The objects of these routes; those of the whole host if one of the routes is an extension's
    own."""
    every = dict(zip(stripping.identities(node), (it.origin for it in node.routes), strict=True))
    return node.origins if names - every.keys() else {every[it] for it in names}


def _after(first: _Attempt, second: Shaped) -> Shaped:
    """The result of a second attempt, which also depends on the answers to the first one."""
    told = dict.fromkeys((*first.found.told, *first.messages(""), *second.told))
    asked = (*first.found.asked, *second.asked)
    answered = (*first.found.answered, *second.answered)
    return second._replace(told=tuple(told), asked=asked, answered=answered)


class _Noted(Container[str]):
    """The filters that a host may configure; notes which of them extensions have added."""

    def __init__(self, allowed: frozenset[str]) -> None:
        self._allowed = allowed
        self.used: set[str] = set()

    def __contains__(self, name: object) -> bool:
        if name not in self._allowed:
            return False
        if isinstance(name, str) and name not in trust.INSTALLED:
            self.used.add(name)
        return True


def _checked(
    host: _Host, good: Good, known: translating.Known
) -> tuple[Good, tuple[trust.Refusal, ...]]:
    """The answer with its refused parts closed, and the refusals."""
    view, key, node = host.view, host.key, good.node
    assert good.body is not None, "something came back"
    called = _called(view, key, node)
    is_current = node is host.node
    asked, taken, guarded = (
        view.ask(stripped, key) if is_current else stripping.stripped(node, called)
    )
    known.add(called.values())
    filters = _Noted(_filters(view, key))
    allowed = trust.Allowed(known, filters, taken, guarded)
    body, refusals = trust.closed(good.body, asked, allowed)
    closed = good.closed | {it.route for it in refusals}
    added, used = tuple(sorted(known.added)), tuple(sorted(filters.used))
    return good._replace(body=body, closed=closed, added=added, filters=used), refusals


def _filters(view: View, key: nodes.HostKey) -> frozenset[str]:
    """The filters that all chains have on which the host is served."""
    found = view.ask(added_filters, TemplateKey(key.fleet, key.listener))
    if found and policy.serves_http3(view, nodes.ListenerKey(key.fleet, key.listener)):
        also = view.ask(added_filters, TemplateKey(key.fleet, key.listener, is_quic=True))
        found = found & also
    return trust.INSTALLED | found


@query
def added_filters(view: View, key: TemplateKey) -> frozenset[str]:
    """The filters that extensions have added to a listener."""
    if not view.ask(listening.is_shaped, ()):
        return frozenset()
    found = view.ask(questions.opened, key)
    good = found.good if found is not None else None
    return templates.filters(good.policy.answer) if good is not None else frozenset()


def _referred(view: View, route: nodes.Route) -> Iterator[chain.Referred]:
    for it in route.extensions:
        found = view.read(foreignobjects.OBJECTS, it)
        assert found is not None, "a rule without its objects is closed"
        yield chain.Referred((it.group, it.kind), found)


def _last(host: _Host) -> tuple[Good, tuple[Told, ...]] | None:
    """What was served last, without routes that were removed since, and messages about what has to
    be closed since."""
    good = host.good
    if good is None:
        return None
    gone = frozenset(_removed(good.node, host.node))
    if gone:
        named = zip(stripping.identities(good.node), good.node.routes, strict=True)
        routes = tuple(it for name, it in named if name not in gone)
        body = stripping.without(good.body, gone) if good.body is not None else None
        good = good._replace(node=replace(good.node, routes=routes), body=body)
    if good.body is None or _can_serve(host, good):
        return good, ()
    good, refusals = _checked(host, good, _known(host.view, host.key))
    asked = [it.name for it in host.view.ask(settings.hook_servers, ())]
    return good, _told(asked, refusals, _CLOSED)


def _can_serve(host: _Host, good: Good) -> bool:
    """Whether all filters and clusters of extensions that it needs still exist."""
    names = (passed.Item(host.key.fleet, it) for it in good.added)
    has_clusters = all(host.view.read(passed.ADDED_CLUSTERS, it) is not None for it in names)
    return has_clusters and _filters(host.view, host.key).issuperset(good.filters)


def _removed(before: nodes.VirtualHost, now: nodes.VirtualHost) -> Iterator[str]:
    """The routes that an object has removed without replacing them: a removal never waits."""
    old, new = _by_origin(before), _by_origin(now)
    for origin, names in old.items():
        left = new[origin]
        if left <= names:
            yield from names - left


def _by_origin(node: nodes.VirtualHost) -> defaultdict[ObjectRef, set[str]]:
    found: defaultdict[ObjectRef, set[str]] = defaultdict(set)
    for name, route in zip(stripping.identities(node), node.routes, strict=True):
        found[route.origin].add(name)
    return found


PUBLISHED = (questions.shaped,)
"""For the asker of extensions; Envoy gets what is made of it."""
