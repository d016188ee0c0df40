"""What owners of objects of the Gateway API are told, in one line per condition."""

from collections.abc import Iterable

from crds.meta import NamespacedName
from dag import statuses
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from tests.dag.world import key


def gateway_class(engine: Engine, name: str) -> list[str]:
    """The conditions of a GatewayClass, as `Accepted=True/Accepted`; empty where it has none."""
    found = engine.answer(STATUSES["GatewayClass"], NamespacedName("", name))
    assert found is None or isinstance(found, statuses.GatewayClassStatus)
    return short(found.conditions) if found else []


def class_messages(engine: Engine, name: str) -> list[str]:
    """The messages of a GatewayClass's conditions."""
    found = engine.answer(STATUSES["GatewayClass"], NamespacedName("", name))
    assert isinstance(found, statuses.GatewayClassStatus)
    return [it.message for it in found.conditions]


def features(engine: Engine, name: str) -> tuple[str, ...]:
    """The features that a GatewayClass is told."""
    found = engine.answer(STATUSES["GatewayClass"], NamespacedName("", name))
    assert isinstance(found, statuses.GatewayClassStatus)
    return found.supported_features


def gateway(engine: Engine, name: str = "gw") -> list[str]:
    """The conditions of a Gateway; empty where it has none."""
    found = _gateway(engine, name)
    return short(found.conditions) if found else []


def gateway_messages(engine: Engine, name: str = "gw") -> list[str]:
    """The messages of a Gateway's conditions."""
    found = _gateway(engine, name)
    return [it.message for it in found.conditions] if found else []


def listener(engine: Engine, name: str, of: str = "gw") -> list[str]:
    """The conditions of a listener."""
    return short(_listener(engine, name, of).conditions)


def listener_messages(engine: Engine, name: str, of: str = "gw") -> list[str]:
    """The messages of a listener's conditions."""
    return [it.message for it in _listener(engine, name, of).conditions]


def listener_set(engine: Engine, name: str) -> list[str]:
    """The conditions of a ListenerSet; empty where it has none."""
    found = engine.answer(STATUSES["ListenerSet"], key(name))
    return short(found.conditions) if isinstance(found, statuses.ListenerSetStatus) else []


def set_listener(engine: Engine, name: str, of: str) -> list[str]:
    """The conditions of a listener of a ListenerSet."""
    return short(_set_listener(engine, name, of).conditions)


def set_messages(engine: Engine, name: str, of: str) -> list[str]:
    """The messages of a listener of a ListenerSet."""
    return [it.message for it in _set_listener(engine, name, of).conditions]


def policy(engine: Engine, name: str, kind: str = "BackendTLSPolicy") -> list[str]:
    """The conditions of a policy, as its first Gateway has them; empty without one."""
    return short(_policy(engine, name, kind))


def policy_messages(engine: Engine, name: str, kind: str = "BackendTLSPolicy") -> list[str]:
    """The messages of the same."""
    return [it.message for it in _policy(engine, name, kind)]


def ancestors(engine: Engine, name: str, kind: str) -> list[str]:
    """The names of the Gateways in whose name a policy is told something."""
    found = engine.answer(STATUSES[kind], key(name))
    entries = found.ancestors if isinstance(found, statuses.PolicyStatus) else ()
    return [it.ancestor.name for it in entries]


def _policy(engine: Engine, name: str, kind: str) -> tuple[statuses.Condition, ...]:
    found = engine.answer(STATUSES[kind], key(name))
    return found.ancestors[0].conditions if isinstance(found, statuses.PolicyStatus) else ()


def kinds(engine: Engine, name: str, of: str = "gw") -> list[str]:
    """The kinds of routes that a listener supports."""
    return [it.kind for it in _listener(engine, name, of).supported_kinds]


def attached(engine: Engine, of: str = "gw") -> dict[str, int]:
    """The numbers of attached routes, by listener."""
    found = _gateway(engine, of)
    return {it.name: it.attached_routes for it in found.listeners} if found else {}


def route(engine: Engine, name: str, parent: int = 0) -> list[str]:
    """The conditions that a parent puts on an HTTPRoute; empty where no parent is ours."""
    parents = parents_of(engine, name)
    return short(parents[parent].conditions) if parents else []


def route_messages(
    engine: Engine, name: str, parent: int = 0, kind: str = "HTTPRoute"
) -> list[str]:
    """The messages of these conditions, also of a route of another kind."""
    return [it.message for it in parents_of(engine, name, kind)[parent].conditions]


def parents_of(
    engine: Engine, name: str, kind: str = "HTTPRoute"
) -> tuple[statuses.ParentStatus, ...]:
    """What each parent of ours says of a route."""
    found = engine.answer(STATUSES[kind], key(name))
    assert found is None or isinstance(found, statuses.RouteStatus)
    return found.parents if found else ()


def short(conditions: Iterable[statuses.Condition]) -> list[str]:
    """Conditions without their messages; those that are as they should be by their type alone."""
    return [
        it.type
        if it.status == "True" and it.reason == it.type
        else f"{it.type}={it.status}/{it.reason}"
        for it in conditions
    ]


def _gateway(engine: Engine, name: str) -> statuses.GatewayStatus | None:
    found = engine.answer(STATUSES["Gateway"], key(name))
    assert found is None or isinstance(found, statuses.GatewayStatus)
    return found


def _listener(engine: Engine, name: str, of: str) -> statuses.ListenerStatus:
    found = _gateway(engine, of)
    assert found is not None
    return next(it for it in found.listeners if it.name == name)


def _set_listener(engine: Engine, name: str, of: str) -> statuses.ListenerStatus:
    found = engine.answer(STATUSES["ListenerSet"], key(of))
    assert isinstance(found, statuses.ListenerSetStatus)
    return next(it for it in found.listeners if it.name == name)


def backend(engine: Engine, name: str = "b") -> list[str]:
    """The conditions of a Backend; empty where it has none."""
    found = engine.answer(STATUSES["Backend"], key(name))
    return short(found.conditions) if isinstance(found, statuses.BackendStatus) else []


def backend_messages(engine: Engine, name: str = "b") -> str:
    """The messages of a Backend's conditions, as one text."""
    found = engine.answer(STATUSES["Backend"], key(name))
    assert isinstance(found, statuses.BackendStatus)
    return " ".join(it.message for it in found.conditions)
