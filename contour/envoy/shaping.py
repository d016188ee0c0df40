"""The tracked query behind hosts that extensions shape: what is served until they have answered.

A host whose extensions have not all answered stays as it was when they last had, but for what its
authors have removed since. One that has no such state is closed, or goes out as it is where every
extension that has not answered may be passed over (`failOpen`).
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from contour.envoy import routing, virtual_hosts
from contour.envoy.hooks import bare, chain, questions, trust
from contour.envoy.hooks.questions import Good, Shaped, Told
from crds.meta import ObjectRef
from dag import foreignobjects, hosts, nodes
from dag.configuration import settings
from dag.engine.view import View


@questions.shaped.answer
def shaped(view: View, key: nodes.HostKey) -> Shaped | None:
    """A host as extensions want it."""
    node = view.ask(hosts.virtual_host, key)
    if node is None:
        return None
    used = routing.clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    called = {it: name.name for it, name in used.items()}
    host, taken, guarded = bare.stripped(node, called)
    servers = view.ask(settings.hook_servers, ())
    way = chain.Way(servers, lambda it: _reply(view, it))
    end = way.through(host, [tuple(_referred(view, it)) for it in node.routes])
    asked, told = tuple(way.asked), tuple(way.told)
    if not end.is_whole:
        last = _last(view, key, node)
        if last is not None:
            return Shaped(last, asked, told, is_finished=False, is_last=True, origins=node.origins)
    if end.body is None:
        return Shaped(None, asked, told, is_finished=False, origins=node.origins)
    if not end.is_changed:
        good = Good(node, end.body)
        return Shaped(good, asked, told, end.is_whole, origins=node.origins)
    allowed = trust.Allowed({*called.values(), trust.NOWHERE}, taken, guarded)
    body, refused = trust.closed(end.body, allowed)
    names = ", ".join(sorted({it.server for it in asked}))
    words = (Told(names, f"{_where(it)} {it.why}, so it is answered with 500") for it in refused)
    every = (*told, *words)
    return Shaped(Good(node, body), asked, every, end.is_whole, origins=node.origins)


def _where(refused: trust.Refusal) -> str:
    return f"in route {refused.route}" if refused.route else "in the host"


def _reply(view: View, it: questions.Question) -> questions.Reply | questions.Silence | None:
    return view.read(questions.REPLIES, it.key)


def _referred(view: View, route: nodes.Route) -> Iterator[chain.Referred]:
    for it in route.extensions:
        found = view.read(foreignobjects.OBJECTS, it)
        if found is not None:
            yield chain.Referred((it.group, it.kind), found)


def _last(view: View, key: nodes.HostKey, node: nodes.VirtualHost) -> Good | None:
    """What was served last, without the routes that are gone since."""
    good = view.read(questions.GOOD, key)
    if good is None:
        return None
    gone = frozenset(_removed(good.node, node))
    if not gone:
        return good
    named = zip(bare.identities(good.node), good.node.routes, strict=True)
    routes = tuple(it for name, it in named if name not in gone)
    return Good(replace(good.node, routes=routes), bare.without(good.body, gone))


def _removed(before: nodes.VirtualHost, now: nodes.VirtualHost) -> Iterator[str]:
    """The routes that an object has no longer and has not replaced: to remove one never waits."""
    old, new = _by_origin(before), _by_origin(now)
    for origin, names in old.items():
        left = new.get(origin, frozenset())
        if left <= names:
            yield from names - left


def _by_origin(node: nodes.VirtualHost) -> dict[ObjectRef, frozenset[str]]:
    found: defaultdict[ObjectRef, set[str]] = defaultdict(set)
    for name, route in zip(bare.identities(node), node.routes, strict=True):
        found[route.origin].add(name)
    return {origin: frozenset(names) for origin, names in found.items()}


PUBLISHED = (questions.shaped,)
"""For who asks; Envoy sees what is made of it."""
