"""Problems of fleets in the status of an EnvoyProxy that applies to them.

While a fleet has a problem with something that an EnvoyProxy may set, the status has the condition
`Programmed`, which is false, for the Gateway or class that names it. A problem with a bootstrap is
only in the status of the EnvoyProxy that sets it. The cost follows the number of Gateways with such
problems. Elsewhere: whether the object can be used (`dag.gateway.proxystatus`), what the Gateway's
author is told (`refusals`).
"""

from collections.abc import Iterator

from crds.envoygateway.envoyproxy import EnvoyProxy
from crds.gateway.references import ParentReference
from crds.meta import NamespacedName
from crds.records import replace
from dag import fleets, tables
from dag.engine.view import Index, View
from dag.envoyproxy import reading
from dag.fleetnames import DEFAULT_FLEET
from dag.fleets import Concern, FleetProblem
from dag.gateway import conditions, selection
from dag.problems import Problem
from dag.problems import envoyproxy as problems
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, PolicyStatus


def completed(view: View, key: NamespacedName, found: PolicyStatus) -> PolicyStatus:
    """The status of an EnvoyProxy, with the problems of the fleets to which it applies."""
    return PolicyStatus(tuple(_with_fleets(view, key, it) for it in found.ancestors))


def _with_fleets(view: View, key: NamespacedName, found: AncestorStatus) -> AncestorStatus:
    row = view.read(tables.ENVOY_PROXIES, key)
    told = [*_told(view, row, found.ancestor)] if row is not None else []
    if not told:
        return found
    condition = conditions.condition(ConditionType.Programmed, told, "")
    return replace(found, conditions=(*found.conditions, condition))


def _told(view: View, proxy: EnvoyProxy, namer: ParentReference) -> Iterator[Problem]:
    at = problems.spec(proxy.metadata.key)
    for fleet, gateway in _troubled(view, namer):
        for it in view.read(fleets.PROBLEMS, fleet) or ():
            is_own = it.concerns != "bootstrap" or _starts(view, proxy, fleet)
            if _is_of_settings(it) and is_own:
                yield problems.not_programmed(_field(at, proxy, it.concerns), gateway, it.message)


def _troubled(view: View, namer: ParentReference) -> Iterator[tuple[str, NamespacedName]]:
    """The fleets of this Gateway or class that have problems, each with its Gateway; not the shared
    one, to which no EnvoyProxy applies."""
    for fleet in sorted(view.bucket(TROUBLED, ())):
        for gateway in view.bucket(selection.FLEETS, fleet) if fleet != DEFAULT_FLEET else ():
            found = view.read(tables.GATEWAYS, gateway)
            of_class = found.spec.gateway_class_name if found is not None else ""
            own = NamespacedName(namer.namespace or "", namer.name)
            if namer.name == of_class if namer.kind == "GatewayClass" else gateway == own:
                yield fleet, gateway


def _starts(view: View, proxy: EnvoyProxy, fleet: str) -> bool:
    """Whether the Envoys of a fleet start with the bootstrap of this EnvoyProxy."""
    own, found = reading.resolved(proxy)[0].bootstrap, view.ask(fleets.fleet, fleet)
    return own is not None and found is not None and found.bootstrap == own


def _field(at: Place, proxy: EnvoyProxy, concern: Concern) -> Place:
    if concern == "bootstrap":
        return at.at("bootstrap")
    if concern == "publishing" and proxy.spec.network_publishing is not None:
        return at.at("networkPublishing")
    given = at.at("provider").at("kubernetes")
    return given.at("envoyService") if concern == "publishing" else given


def _is_of_settings(found: FleetProblem) -> bool:
    return found.is_error and found.concerns != "all"


def _with_trouble(name: str, found: tuple[FleetProblem, ...]) -> Iterator[tuple[tuple[()], str]]:
    if any(map(_is_of_settings, found)):
        yield (), name


TROUBLED: Index[tuple[()], str] = Index(
    "fleets that are not as their settings say", fleets.PROBLEMS, _with_trouble
)

INDEXES = (TROUBLED,)
