"""A small world of manifests: what the rules make of it, in one line per route and per problem.

For rule tests. Decoded as the providers decode it, settled by the real engine over the whole plan.
"""

from collections.abc import Iterable, Iterator

import yaml

from crds.decode import Decoded, decode, items
from crds.meta import NamespacedName
from dag import hosts, nodes, statuses, tables
from dag.engine.incremental import Engine
from dag.plan import PLAN, STATUSES

FLEET = "contour"


def world(text: str) -> Engine:
    """The engine, settled over the manifests of a YAML stream."""
    engine = Engine(PLAN)
    engine.write(tables.FLEETS, FLEET, True)
    apply(engine, text)
    return engine


def apply(engine: Engine, text: str) -> None:
    """Writes the manifests of a YAML stream and settles; no rule may fail."""
    for kind, key, found in _objects(text):
        engine.write(tables.BY_KIND[kind], key, found)
    engine.settle()
    assert not engine.failures, engine.failures


def delete(engine: Engine, kind: str, name: str) -> None:
    """Removes an object given as `namespace/name` and settles."""
    engine.write(tables.BY_KIND[kind], key(name), None)
    engine.settle()
    assert not engine.failures, engine.failures


def key(name: str) -> NamespacedName:
    """`namespace/name`, `/name` of what is in no namespace, or a name in `default`."""
    namespace, slash, rest = name.rpartition("/")
    return NamespacedName(namespace if slash else "default", rest)


def routes(engine: Engine, host: str, listener: str = "ingress_http") -> list[str]:
    """The routes of a host in the order in which Envoy tries them."""
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, listener, host))
    return [line(it) for it in found.routes] if found is not None else []


def secure(engine: Engine, host: str) -> list[str]:
    """The routes of a host behind TLS."""
    return routes(engine, host, "ingress_https")


def tls(engine: Engine, host: str) -> str:
    """The Secret and the versions with which TLS is terminated; empty where it is not."""
    found = engine.answer(hosts.secure_host, nodes.HostKey(FLEET, "ingress_https", host))
    if found is None:
        return ""
    termination = found.tls
    if termination is None:
        return "passthrough"
    return f"{termination.secret} {termination.minimum}-{termination.maximum}"


def secure_host(engine: Engine, host: str, listener: str = "ingress_https") -> nodes.SecureHost:
    """What happens to TLS connections for a host."""
    found = engine.answer(hosts.secure_host, nodes.HostKey(FLEET, listener, host))
    assert found is not None
    return found


def problems(engine: Engine, kind: str, name: str) -> list[str]:
    """What the author of an object is told, as `Type/Reason`; warnings with a leading `?`."""
    return [told.split(": ")[0] for told in messages(engine, kind, name)]


def messages(engine: Engine, kind: str, name: str) -> list[str]:
    """What the author of an object is told, as `Type/Reason: message`."""
    found = engine.answer(STATUSES[kind], key(name))
    match found:
        case statuses.ContourStatus():
            return [*map(_told, found.errors), *(f"?{_told(it)}" for it in found.warnings)]
        case statuses.EventStatus():
            return [*map(_told, found.problems), *(f"?{_told(it)}" for it in found.warnings)]
    raise AssertionError(f"{kind} {name} has no such status, but {found}")


def line(route: nodes.Route) -> str:
    """A route as one line: `/api header x=1 -> default/s1:80`."""
    return f"{' '.join(_match(route.match))} -> {_action(route.action)}"


def _objects(text: str) -> Iterator[tuple[str, NamespacedName, object]]:
    for document in yaml.load_all(text, yaml.CSafeLoader):
        for raw in items(document):
            found = decode(raw)
            assert isinstance(found, Decoded), found
            assert found.object is not None, found.complaints
            yield found.kind.kind, found.key, found.object


def _told(it: statuses.SubCondition) -> str:
    return f"{it.type}/{it.reason}: {it.message}"


def _match(match: nodes.Match) -> Iterator[str]:
    match match.path:
        case nodes.Exact(path):
            yield f"={path}"
        case nodes.Prefix(path):
            yield path
        case nodes.Segments(path):
            yield f"{path}/..."
        case nodes.Regex(expression):
            yield f"~{expression}"
    if match.method:
        yield match.method
    for header in match.headers:
        yield f"{'!' * header.inverted}{header.name}{_value(header.value)}"
    for query in match.queries:
        yield f"?{query.name}{_value(query.value)}"
    for cookie in match.cookies:
        yield f"cookie {cookie.name}{_SIGNS[cookie.operator]}{cookie.value}"
    if match.drawn is not None:
        yield f"up to {match.drawn / 10_000:g}%"


_SIGNS = {"exact": "=", "prefix": "^=", "suffix": "$=", "contains": "*=", "regex": "~"}


def _value(value: nodes.ValueMatch) -> str:
    return "" if value.operator == "present" else _SIGNS[value.operator] + value.value


def _action(action: nodes.Action) -> str:
    match action:
        case nodes.Respond(status):
            return str(status)
        case nodes.Redirect():
            parts = (action.host, action.port, action.full_path, action.prefix)
            rest = [str(it) for it in parts if it is not None]
            return " ".join([str(action.status), *filter(None, [action.scheme]), *rest])
        case nodes.Forward(backends):
            return ", ".join(_backends(backends))


def _backends(backends: Iterable[nodes.Backend]) -> Iterator[str]:
    found = list(backends)
    for it in found:
        share = f" x{it.weight}" if len(found) > 1 else ""
        yield (f"{it.cluster.port.service}:{it.cluster.port.port}" if it.cluster else "500") + share
