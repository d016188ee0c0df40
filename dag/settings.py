"""The effective settings: what the ContourConfiguration says, and what holds where it is silent.

The ContourConfiguration that the process was told to follow counts; if it was told of none, the
only one that there is: with several, the defaults hold and each of them is told. Rules ask for
the projection they need, so that a change of another setting leaves them alone. Elsewhere:
reading an object (`configuration`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from crds.contourconfiguration import ContourConfiguration
from crds.meta import NamespacedName
from crds.unserved import unserved
from dag import configuration, nodes, tables
from dag.configuration import Ports, Settings, Timeouts, TlsVersions
from dag.statuses import Condition, ContourStatus, SubCondition
from dag.view import Query, View, query


@query
def settings(view: View, _: tuple[()]) -> Settings:
    """What holds now."""
    chosen = view.ask(chosen_configuration, ())
    found = Settings() if chosen is None else configuration.resolved(chosen.spec)[0]
    name = view.read(tables.CONTROLLER_NAMES, ())
    return found if name is None else replace(found, controller_name=name)


@query
def chosen_configuration(view: View, _: tuple[()]) -> ContourConfiguration | None:
    """The one that counts: the one named, else the only one."""
    name = view.read(tables.CONFIGURATION_NAME, ())
    if name is not None:
        return view.read(tables.CONFIGURATIONS, name)
    keys = view.bucket(tables.ALL_CONFIGURATIONS, ())
    return view.read(tables.CONFIGURATIONS, next(iter(keys))) if len(keys) == 1 else None


def _projection(name: str) -> Query[tuple[()], Any]:
    def rule(view: View, _: tuple[()]) -> Any:
        return getattr(view.ask(settings, ()), name)

    rule.__name__ = name
    return query(rule)


class_names: Query[tuple[()], tuple[str, ...]] = _projection("class_names")
root_namespaces: Query[tuple[()], tuple[str, ...]] = _projection("root_namespaces")
disable_permit_insecure: Query[tuple[()], bool] = _projection("disable_permit_insecure")
external_names: Query[tuple[()], bool] = _projection("external_names")
is_closed: Query[tuple[()], bool] = _projection("is_closed")
controller_name: Query[tuple[()], str] = _projection("controller_name")
gateway_mode: Query[tuple[()], Literal["Single", "PerGateway"]] = _projection("mode")
ports: Query[tuple[()], Ports] = _projection("ports")
tls_versions: Query[tuple[()], TlsVersions] = _projection("tls")
timeouts: Query[tuple[()], Timeouts] = _projection("timeouts")
edge: Query[tuple[()], nodes.Edge] = _projection("edge")
upstreams: Query[tuple[()], nodes.Upstreams] = _projection("upstreams")
rate_limit_service: Query[tuple[()], nodes.RateLimitService | None] = _projection(
    "rate_limit_service"
)


@query
def routing(view: View, _: tuple[()]) -> str:
    """How hosts are cut into resources. A change while Envoys are served would drain listeners."""
    return view.read(tables.ROUTING, ()) or view.ask(settings, ()).routing


@query
def status(view: View, key: NamespacedName) -> ContourStatus | None:
    """Whether a ContourConfiguration counts, and which of its values do not."""
    found, name = view.read(tables.CONFIGURATIONS, key), view.read(tables.CONFIGURATION_NAME, ())
    if found is None or name not in {None, key}:
        return None
    errors = list(configuration.resolved(found.spec)[1])
    others = sorted(view.bucket(tables.ALL_CONFIGURATIONS, ()) - {key})
    if others and name is None:
        message = f"defaults hold while there are several ContourConfigurations; also {others[0]}"
        errors.insert(0, SubCondition("SpecError", "SeveralConfigurations", message))
    errors += (
        SubCondition("SpecError", "UnsupportedField", f"{it.path}: {_CLOSED}")
        for it in unserved(found)
        if it.guards
    )
    warnings = tuple(SubCondition("SpecError", "IgnoredField", it) for it in _ignored(view, found))
    valid = (
        Condition("Valid", "False", "ErrorPresent", "At least one error, see Errors for details")
        if errors
        else Condition("Valid", "True", "Valid", "Valid ContourConfiguration")
    )
    state: Literal["valid", "invalid"] = "invalid" if errors else "valid"
    return ContourStatus(valid, state, tuple(errors), warnings)


_CLOSED = "is not served yet; until then every host is answered with 503"


def _ignored(view: View, found: ContourConfiguration) -> Iterator[str]:
    yield from (f"{it.path}: not served yet" for it in unserved(found) if not it.guards)
    if view.ask(settings, ()).routing != view.ask(routing, ()):
        yield "spec.envoy.listener.routing: holds from the next start on"


STATUSES: Mapping[str, Query[NamespacedName, Any]] = {"ContourConfiguration": status}
