"""What a route does with a request, aspect by aspect, and how two routes differ in that."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import NamedTuple, TypeGuard

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import nodes
from dag.evaluation import guards

GUARDS = frozenset(
    {
        "access",
        "authentication",
        "authorization",
        "body_limit",
        "csrf",
        "ip_filter",
        "jwt",
        "limits",
        "local_rate_limit",
        "login",
        "rate_limits",
    }
)
"""The policies that keep requests out: without one of them, more requests pass."""

Taken = tuple[nodes.VirtualHost, nodes.Route] | nodes.Respond
"""A route with its host, or what is answered where no route takes a request."""


class Change(NamedTuple):
    """An aspect that differs, for people; empty where there is nothing of the kind."""

    aspect: str
    before: str
    after: str
    is_loss: bool = False
    """A guard that was there is not there any more."""


def changes(before: Taken, after: Taken) -> Iterator[Change]:
    """How two routes differ."""
    both = _is_forwarded(before) and _is_forwarded(after)
    old, new = _aspects(before, how=both), _aspects(after, how=both)
    for aspect in dict.fromkeys((*old, *new)):
        one, other = old.get(aspect), new.get(aspect)
        if _differ(one, other):
            lost = aspect in GUARDS and other is None and _is_forwarded(after)
            yield Change(_shown_name(aspect), shown(one), shown(other), lost)


def _differ(one: object, other: object) -> bool:
    """Whether an aspect has changed. Where there are more or fewer backends, which `answer` tells,
    it has only if a value came or went."""
    if isinstance(one, PerBackend) and isinstance(other, PerBackend) and len(one) != len(other):
        return any(it not in other for it in one) or any(it not in one for it in other)
    return one != other


def _is_forwarded(found: Taken) -> bool:
    return isinstance(found, tuple) and isinstance(found[1].action, nodes.Forward)


def _aspects(found: Taken, *, how: bool) -> dict[str, object]:
    """The aspects of a route, by name, without absent ones. `how` adds those of forwarding."""
    if isinstance(found, nodes.Respond):
        return {"answer": found}
    host, route = found
    policies = guards.in_force(host.policies, route.policies)
    aspects = {
        "answer": _bare(route.action),
        "share of requests": _drawn(route.match.drawn),
        "request_headers": route.request_headers,
        "response_headers": route.response_headers,
        **(_parts(route.action) if how else {}),
        **{it.name: getattr(policies, it.name) for it in fields(policies)},
        "token provider": _provider(host, policies),
    }
    return {name: value for name, value in aspects.items() if value not in _NOTHING}


def _drawn(number: int | None) -> str | None:
    """The share of requests that a route takes, of those that earlier routes leave to it."""
    return None if number is None else f"{number * 100 / nodes.MILLION:g}%"


def _provider(host: nodes.VirtualHost, policies: nodes.Policies) -> nodes.JwtProvider | None:
    named = policies.jwt.provider if isinstance(policies.jwt, nodes.Jwt) else ""
    return next((it for it in host.jwt_providers if it.name == named), None)


_NUMBERS = ("per_endpoint", "predictive", "aggression", "percent")
"""Fields that hold a number that is no duration."""
_NOTHING = (None, nodes.OFF, (), False)


class PerBackend(tuple[object, ...]):
    """The value of an aspect for each backend of a route that has a cluster, in order."""

    __slots__ = ()


class Share(NamedTuple):
    """A backend, reduced to where requests go: without protocol, TLS and other settings."""

    backend: nodes.Backend
    """Without its cluster."""
    port: nodes.ServicePort | None
    """None: there is no cluster; Envoy answers this share itself."""
    is_all: bool
    """There is no other backend."""


def _bare(action: nodes.Action) -> object:
    """Where an action sends requests, without the settings of the clusters."""
    if not isinstance(action, nodes.Forward):
        return action
    is_all = len(action.backends) == 1
    ports = (it.cluster.port if it.cluster is not None else None for it in action.backends)
    weights = (min(it.weight, 1) if is_all else it.weight for it in action.backends)
    bare = map(_without_cluster, action.backends, weights)
    return tuple(Share(one, port, is_all) for one, port in zip(bare, ports, strict=True))


def _without_cluster(backend: nodes.Backend, weight: int) -> nodes.Backend:
    return replace(backend, cluster=None, weight=weight)


def _parts(action: nodes.Action) -> Mapping[str, object]:
    """How requests are forwarded, field by field."""
    if not isinstance(action, nodes.Forward):
        return {}
    own = {it.name: getattr(action, it.name) for it in fields(action) if it.name != "backends"}
    clusters = tuple(it.cluster for it in action.backends if it.cluster is not None)
    names = (it.name for it in fields(nodes.Cluster) if it.name != "port")
    of_clusters = {name: PerBackend(getattr(it, name) for it in clusters) for name in names}
    return own | {f"backend {name}": value for name, value in of_clusters.items()}


def _shown_name(aspect: str) -> str:
    return aspect.replace("_", " ")


def shown(value: object) -> str:
    """A value as people read it; empty for none. A float is a duration in seconds."""
    match value:
        case None:
            return ""
        case float():
            return f"{value:.12g} s"
        case NamespacedName() | ObjectRef():
            return str(value)
        case nodes.Respond():
            return f"answered {value.status}" + (" with a body" if value.body else "")
        case nodes.Redirect():
            return f"redirected with {value.status} to {_target(value)}"
        case Share():
            return _share(value)
        case nodes.Mirror():
            return _mirror(value)
        case nodes.ServicePort():
            return f"{value.owner}:{value.port}"
        case _ if _is_sequence(value):
            return ", ".join(dict.fromkeys(shown(it) or "none" for it in value))
        case _:
            return _plain(value)


def _is_sequence(value: object) -> TypeGuard[tuple[object, ...]]:
    return not _is_named(value) and isinstance(value, tuple)


def _is_named(value: object) -> TypeGuard[NamedTuple]:
    return hasattr(value, "_fields") and isinstance(value, tuple)


def _target(found: nodes.Redirect) -> str:
    authority = found.host or "the same host"
    port = f":{found.port}" if found.port else ""
    path = found.full_path or (f"{found.prefix}…" if found.prefix is not None else "")
    return f"{found.scheme + '://' if found.scheme else ''}{authority}{port}{path}"


def _share(found: Share) -> str:
    where = shown(found.port) or "nobody"
    weight = "" if found.is_all else f" (weight {found.backend.weight})"
    changed = found.backend.request_headers or found.backend.response_headers or found.backend.host
    return f"{where}{weight}{' with changed headers' if changed else ''}"


def _mirror(found: nodes.Mirror) -> str:
    percent = f"{100 * found.numerator / found.denominator:.12g}%"
    return "; ".join(
        (f"{shown(found.cluster.port)} ({percent})", *_settings(found.cluster, "port"))
    )


def _plain(value: object) -> str:
    is_node = is_dataclass(value) or _is_named(value)
    return "; ".join(_settings(value)) if is_node else str(value)


def _settings(value: object, *but: str) -> Iterator[str]:
    """Of a node its fields that are not the default, but for some."""
    for name, default in _defaults(value):
        it = getattr(value, name)
        if name not in but and it not in (default, None, ()):
            yield _field(name, it)


def _defaults(value: object) -> Iterator[tuple[str, object]]:
    """The fields of a node, each with its default."""
    if is_dataclass(value):
        yield from ((it.name, it.default) for it in fields(value))
    elif _is_named(value):
        yield from ((it, value._field_defaults.get(it)) for it in value._fields)


def _field(name: str, value: object) -> str:
    return f"{_shown_name(name)} {str(value) if name in _NUMBERS else shown(value)}"
