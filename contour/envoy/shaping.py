"""The tracked query behind hosts that extensions shape: what is served until they have answered.

A host whose extensions have not all answered stays as it was when they last had, but for what its
authors have removed since. One that has no such state is closed, or goes out as it is where every
extension that has not answered may be passed over (`failOpen`).
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from contour.envoy import listening, policy, routing, translating, virtual_hosts
from contour.envoy.hooks import bare, chain, questions, templates, trust
from contour.envoy.hooks.questions import Good, Shaped, TemplateKey, Told
from crds.meta import ObjectRef
from dag import foreignobjects, hosts, nodes
from dag.configuration import settings
from dag.engine.view import View, query


@query
def stripped(view: View, key: nodes.HostKey) -> bare.Stripped:
    """A host as extensions see it: asked about now, and looked at again when they have answered."""
    node = view.ask(hosts.virtual_host, key)
    assert node is not None, "there is a host that is asked about"
    used = routing.clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    return bare.stripped(node, {it: name.name for it, name in used.items()})


@questions.shaped.answer
def shaped(view: View, key: nodes.HostKey) -> Shaped | None:
    """A host as extensions want it."""
    node = view.ask(hosts.virtual_host, key)
    if node is None:
        return None
    found, known = _answered(view, key, node)
    if found.served is None or found.until_then == "last":
        return found
    used = routing.clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    names = [it.name for it in used.values()]
    silent = translating.lacking(view, key.fleet, names, known, found.answered)
    if silent is None:
        return found
    last = _last(view, key, node)
    until_then: Literal["last", "unmodified"] = "unmodified" if last is None else "last"
    return found._replace(
        served=last, told=silent, is_finished=False, until_then=until_then, origins=node.origins
    )


def _answered(
    view: View, key: nodes.HostKey, node: nodes.VirtualHost
) -> tuple[Shaped, translating.Known]:
    """The host as the answers about it want it, and the clusters that it names: extensions may not
    have answered for them yet."""
    servers = view.ask(settings.hook_servers, ())
    referred = [tuple(_referred(view, it)) for it in node.routes]
    known = translating.Known(view, key.fleet, (trust.NOWHERE,))
    if not chain.is_asked(servers, referred):
        return Shaped(Good(node, None), origins=node.origins), known
    asked, taken, guarded = view.ask(stripped, key)
    way = chain.Way(
        servers,
        lambda it: view.read(questions.REPLIES, it.key),
        lambda: view.read(questions.GOOD, key) is not None,
    )
    end = way.through(asked, referred)
    found = Shaped(
        None, tuple(way.asked), tuple(way.answered), tuple(way.told), end.is_whole,
        origins=node.origins,
    )  # fmt: skip
    if not end.is_whole and not way.closed and (last := _last(view, key, node)) is not None:
        return found._replace(served=last, until_then="last"), known
    if end.body is None:
        return found, known
    if way.closed:
        origins = sorted({node.routes[it].origin for it in way.closed})
        found = found._replace(until_then="partly", origins=tuple(origins))
    if not end.is_changed:
        return found._replace(served=Good(node, None)), known
    used = routing.clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    known.add(it.name for it in used.values())
    allowed = trust.Allowed(known, _filters(view, key), taken, guarded)
    body, refused = trust.closed(end.body, asked, allowed)
    names = ", ".join(sorted({it.server for it in way.asked}))
    words = (Told(names, f"{_where(it)} {it.why}, so it is answered with 500") for it in refused)
    good = Good(node, body, tuple(sorted(known.added)))
    return found._replace(served=good, told=(*found.told, *words)), known


def _filters(view: View, key: nodes.HostKey) -> frozenset[str]:
    """The filters that every chain has on which the host is served."""
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


def _where(refused: trust.Refusal) -> str:
    return f"in route {refused.route}" if refused.route else "in the host"


def _referred(view: View, route: nodes.Route) -> Iterator[chain.Referred]:
    for it in route.extensions:
        found = view.read(foreignobjects.OBJECTS, it)
        assert found is not None, "a rule without its objects is closed"
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
    body = bare.without(good.body, gone) if good.body is not None else None
    return good._replace(node=replace(good.node, routes=routes), body=body)


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
