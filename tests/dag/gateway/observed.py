"""Everything that a world of Gateways answers, as plain values that YAML can hold.

For the folders of `conformance`: what each object is told in one line per listener or parent, the
routes of each host, what happens to TLS connections, and where streams go.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from dag import hosts, listeners, nodes, statuses
from dag.engine.incremental import Engine
from dag.engine.view import Query
from dag.plan import STATUSES
from tests.dag.gateway import traits
from tests.dag.gateway.status_text import short
from tests.dag.world import FLEET, line

T = TypeVar("T")

KINDS = (
    "GatewayClass",
    "Gateway",
    "ListenerSet",
    "HTTPRoute",
    "GRPCRoute",
    "TLSRoute",
    "TCPRoute",
    "UDPRoute",
    "BackendTLSPolicy",
)


def everything(engine: Engine) -> dict[str, Any]:
    """What is told, and what Envoy should do; what is empty is left out."""
    found = {
        "told": dict(_told(engine)),
        "routes": dict(_routes(engine)),
        "traits": dict(_traits(engine)),
        "tls": dict(_secure(engine)),
        "streams": dict(_streams(engine)),
    }
    return {name: it for name, it in found.items() if it}


def _answers(engine: Engine, query: Query[Any, T | None]) -> Iterator[tuple[Any, T]]:
    """In order of their keys."""
    for key, found in sorted(engine.answers(query), key=lambda it: it[0]):
        if found is not None:
            yield key, found


def _told(engine: Engine) -> Iterator[tuple[str, Any]]:
    for kind in KINDS:
        for key, found in sorted(engine.answers(STATUSES[kind])):
            if found is not None:
                yield f"{kind} {key}", _status(found)


def _status(found: statuses.Status) -> Any:
    match found:
        case statuses.GatewayClassStatus():
            return _joined(found.conditions)
        case statuses.GatewayStatus():
            own = {"own": _joined(found.conditions)} | _listeners(found.listeners)
            sets = found.attached_listener_sets
            return own | ({"sets": sets} if sets else {})
        case statuses.ListenerSetStatus():
            return {"own": _joined(found.conditions)} | _listeners(found.listeners)
        case statuses.RouteStatus():
            return [_parent(it) for it in found.parents]
        case statuses.PolicyStatus():
            return [f"{it.ancestor.name}: {_joined(it.conditions)}" for it in found.ancestors]
    raise AssertionError(found)


def _listeners(found: tuple[statuses.ListenerStatus, ...]) -> dict[str, str]:
    return {
        f"listener {it.name}": " | ".join(
            [
                _joined(it.conditions),
                " ".join(kind.kind for kind in it.supported_kinds) or "nothing",
                str(it.attached_routes),
            ]
        )
        for it in found
    }


def _parent(found: statuses.ParentStatus) -> str:
    parent = found.parent
    section = "/".join(str(it) for it in (parent.section_name, parent.port) if it is not None)
    name = f"{parent.name}{f' ({section})' if section else ''}"
    return f"{name}: {_joined(found.conditions)}"


def _joined(conditions: tuple[statuses.Condition, ...]) -> str:
    return " ".join(short(conditions))


def _routes(engine: Engine) -> Iterator[tuple[str, list[str]]]:
    for key, found in _answers(engine, hosts.virtual_host):
        yield _where(key), [line(it) for it in found.routes]


def _traits(engine: Engine) -> Iterator[tuple[str, list[str]]]:
    for key, found in _answers(engine, hosts.virtual_host):
        for route in found.routes:
            if traits.traits(route):
                yield f"{_where(key)} {line(route).split(' -> ')[0]}", traits.traits(route)


def _where(key: nodes.HostKey) -> str:
    """A host; with its fleet, if it is not that of all APIs."""
    fleet = "" if key.fleet == FLEET else f"{key.fleet}: "
    return f"{fleet}{key.listener} {key.host}"


def _secure(engine: Engine) -> Iterator[tuple[str, str]]:
    for key, found in _answers(engine, hosts.secure_host):
        tls = f"{found.tls.secret}" if found.tls is not None else "passed on"
        if found.tls is not None and found.tls.clients is not None:
            tls += " insecure" if found.tls.clients.accepts_untrusted else " for known clients"
        stream = f" -> {_stream(found.stream)}" if found.stream is not None else ""
        yield _where(key), tls + stream


def _streams(engine: Engine) -> Iterator[tuple[str, str]]:
    for key, found in _answers(engine, listeners.listener):
        if found.stream is not None:
            yield f"{key.name} {found.protocol}", _stream(found.stream)


def _stream(found: nodes.Stream) -> str:
    many = len(found.shares) > 1
    return ", ".join(
        (f"{it.cluster.port.service}:{it.cluster.port.port}" if it.cluster else "refused")
        + (f" x{it.weight}" if many else "")
        for it in found.shares
    )
