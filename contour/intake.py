"""Turns an event into a row of the graph's tables, or into a reason why the old row stays.

History is kept here, not in the rules. A Secret whose new certificate is unusable does not replace
a usable one, and a ContourConfiguration with an error does not replace a valid one. The same holds
for an EnvoyProxy with an error and for a policy that cannot be read, and for the deletion of the
ContourConfiguration that the process follows. The last good version stays in force, and the status
says so. Everything else becomes a row as it is.
"""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from contour.events import Event
from crds import foreign
from crds.contourconfiguration import ContourConfiguration
from crds.envoygateway.envoyproxy import EnvoyProxy
from crds.envoygateway.policytargets import UnreadPolicy
from crds.kinds import Kind
from crds.meta import NamespacedName
from crds.secret import Secret
from dag import foreignobjects, nodes, tables
from dag.configuration import reading
from dag.engine.incremental import Engine
from dag.engine.view import Table
from dag.envoyproxy import reading as proxies
from dag.references import parsing, secrets

log = logging.getLogger(__name__)


def parted(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """ContourConfigurations, and all other events, whose meaning depends on them."""
    configurations: list[Event] = []
    others: list[Event] = []
    for event in events:
        is_one = event.kind.model is ContourConfiguration
        (configurations if is_one else others).append(event)
    return configurations, others


def place(kind: Kind, key: NamespacedName) -> tuple[Table[Any, Any], object]:
    """The table of an object, and its key there."""
    if foreign.is_foreign(kind):
        return foreignobjects.OBJECTS, nodes.ForeignKey(kind.group, foreign.name(kind), *key)
    return tables.BY_KIND[kind.kind], key


def write(engine: Engine, kind: Kind, key: NamespacedName, new: Any | None) -> str | None:
    """Writes an object, or its absence. Returns the reason if its last good version stays
    instead."""
    table, at = place(kind, key)
    fault = _fault(new) if new is not None else _loss(engine, kind, key)
    if fault is not None:
        old = engine.row(table, at)
        if old is not None and _fault(old) is None:
            return fault
    engine.write(table, at, new)
    return None


def _loss(engine: Engine, kind: Kind, key: NamespacedName) -> str | None:
    """Why an object stays although it was deleted; None if it does not."""
    is_followed = engine.row(tables.CONFIGURATION_NAME, ()) == key
    if kind.model is ContourConfiguration and is_followed:
        return "it was deleted; its last settings stay in force until the next start"
    return None


def _fault(found: Any) -> str | None:
    """Why an object must not replace a valid one; None if it may."""
    try:
        return _judged(found)
    except Exception as error:  # one object must not stop the others
        log.exception("cannot judge the %s %s", type(found).__name__, found.metadata.key)
        return f"it cannot be judged: {type(error).__name__}"


def _judged(found: Any) -> str | None:
    match found:
        case Secret(type="kubernetes.io/tls"):
            pair = secrets.checked(found)
            return _expiry(pair.chain) if isinstance(pair, nodes.Secret) else pair.message
        case ContourConfiguration():
            _, errors = reading.resolved(found)
            return "; ".join(it.message for it in errors) or None
        case EnvoyProxy():
            _, errors = proxies.resolved(found)
            return "; ".join(it.message for it in errors) or None
        case UnreadPolicy():
            return "it cannot be read"
        case _:
            return None


def _expiry(chain: bytes) -> str | None:
    """The graph has no clock: a certificate may have expired although no object has changed."""
    end = parsing.certificates(chain)[0].not_valid_after_utc
    return f"the certificate expired on {end:%Y-%m-%d %H:%M} UTC" if end < _now() else None


def _now() -> datetime:
    return datetime.now(UTC)
