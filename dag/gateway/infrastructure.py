"""What is asked of whatever is made for a Gateway ("GatewayInfrastructure", GEP-1867).

For whoever makes fleets of Envoys: `infrastructure` is the answer to apply. Labels and annotations
go on every object and pod, the addresses to the Service. How the fleet is published and runs is
what the nearest ContourConfiguration says: the one that the Gateway names, its class's, that of the
instance. In mode `Single` the fleet is the instance's own: there only the last counts. Elsewhere:
parameters that cannot be used (`parameters`), whether addresses were assigned (`addresses`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import field

from crds.contourconfiguration import ContourConfigurationSpec
from crds.envoysettings import Envoy
from crds.gateway.gateway import GatewayInfrastructure
from crds.meta import NamespacedName
from crds.records import dataclass
from crds.workloads import NetworkPublishing, Workload
from dag import tables
from dag.configuration import settings
from dag.engine.view import View, query
from dag.gateway import addresses, parameters
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.statuses import Address


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """How the fleet of a Gateway is to be."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    addresses: tuple[Address, ...] = ()
    """Those that are asked for by their value; any will do, if there is none."""
    publishing: NetworkPublishing | None = None
    """The Service in front; None: the fleet is not for us to make."""
    workload: Workload | None = None
    """How its Envoys run."""
    is_managed: bool = False
    """It is for us to make, and to keep as it should be."""


@query
def infrastructure(view: View, gateway: NamespacedName) -> Infrastructure | None:
    """What is asked of the fleet of a Gateway; None if it can have none, or is not there."""
    found = view.read(tables.GATEWAYS, gateway)
    if found is None or view.ask(parameters.refusal, gateway) is not None:
        return None
    own = found.spec.infrastructure or GatewayInfrastructure()
    instance, nearest = _instance(view), list(_nearest(view, gateway))
    published = (it.network_publishing for it in nearest if it.network_publishing)
    publishing = next(published, None)
    return Infrastructure(
        labels=own.labels,
        annotations=own.annotations,
        addresses=addresses.wanted(view, gateway),
        publishing=publishing,
        workload=next((it.workload for it in nearest if it.workload), None),
        is_managed=publishing is not None and instance.managed is not False,
    )


def told(view: View, gateway: NamespacedName) -> Iterator[Problem]:
    """What of the infrastructure that a Gateway asks for has no effect."""
    found, row = view.ask(infrastructure, gateway), view.read(tables.GATEWAYS, gateway)
    asked = row.spec.infrastructure if row is not None else None
    if found is None or asked is None:
        return
    at = problems.gateway(gateway).at("infrastructure")
    if not found.is_managed:
        yield problems.infrastructure_not_made(at)
    elif asked.parameters_ref is not None:
        yield problems.parameters_hold(at.at("parametersRef"), _mode(view))


def told_of_class(view: View, key: NamespacedName) -> Iterator[Problem]:
    """What is wrong with the parameters of a class, or what of them holds."""
    found = view.ask(parameters.of_class, key)
    if isinstance(found, Problem):
        yield found
    elif found is not None:
        at = problems.gateway_class(key).at("parametersRef")
        yield problems.parameters_hold(at, _mode(view))


def _nearest(view: View, gateway: NamespacedName) -> Iterator[Envoy]:
    """What is said of Envoys, the nearest first."""
    found = view.read(tables.GATEWAYS, gateway)
    if found is not None and _mode(view) == "PerGateway":
        for it in (
            parameters.of_gateway(view, gateway),
            view.ask(parameters.of_class, NamespacedName("", found.spec.gateway_class_name)),
        ):
            if isinstance(it, ContourConfigurationSpec) and it.envoy is not None:
                yield it.envoy
    yield _instance(view)


def _instance(view: View) -> Envoy:
    found = view.ask(settings.chosen_configuration, ())
    return (found.spec.envoy if found is not None else None) or Envoy()


def _mode(view: View) -> str:
    return view.ask(settings.gateway_mode, ())
