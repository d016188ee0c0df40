"""The infrastructure that a Gateway asks for ("GatewayInfrastructure", GEP-1867).

For whoever makes fleets of Envoys: `infrastructure` is the answer to apply. Labels and annotations
go on every object and pod, the addresses to the Service; but not annotations that only the instance
may set, or that would take pods out of the restricted Pod Security level. How the fleet is
published and runs is set by the nearest ContourConfiguration: the one that the Gateway names, that
of its class, or that of the instance; fields that it may not set keep the values of the others. An
EnvoyProxy in its place changes only the fields that it sets. In mode `Single` the fleet is the
instance's own, so only the instance's configuration counts. Elsewhere: parameters that cannot be
used (`parameters`), whether addresses were assigned (`addresses`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import field

from crds.contourconfiguration import ContourConfigurationSpec
from crds.envoysettings import Envoy
from crds.fleetdetails import Details, Service
from crds.gateway.gateway import GatewayInfrastructure
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from crds.workloads import NetworkPublishing, Workload
from dag import tables
from dag.configuration import settings
from dag.engine.view import View, query
from dag.envoyproxy import restricted
from dag.envoyproxy.asked import Asked, OwnBootstrap, Shape, applied
from dag.gateway import addresses, parameters
from dag.problems import Problem, shared
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.statuses import Address


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """What a Gateway and its parameters ask for the fleet."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    addresses: tuple[Address, ...] = ()
    """The addresses that are asked for by their value; if empty, any address will do."""
    publishing: NetworkPublishing | None = None
    """How the Service in front is published; None: the instance does not make the fleet."""
    workload: Workload | None = None
    """How its Envoys run."""
    details: Details = field(default_factory=Details)
    """Further settings of Envoys and the Service, which a ContourConfiguration does not have."""
    bootstrap: OwnBootstrap | None = None
    """The bootstrap that they start with, if it is not the usual one."""
    is_managed: bool = False
    """The instance makes the fleet and keeps it as it should be."""


@query
def infrastructure(view: View, gateway: NamespacedName) -> Infrastructure | None:
    """What is asked of the fleet of a Gateway; None if it can have none, or does not exist."""
    is_refused = view.ask(parameters.refusal, gateway) is not None
    return None if is_refused else view.ask(wanted, gateway)


@query
def wanted(view: View, gateway: NamespacedName) -> Infrastructure | None:
    """The same, also for a Gateway that is not served now because of what it refers to: in mode
    `Single` its Envoys serve Ingress and HTTPProxy as well."""
    found = view.read(tables.GATEWAYS, gateway)
    if found is None:
        return None
    own = found.spec.infrastructure or GatewayInfrastructure()
    instance, shape = _instance(view), _shape(view, gateway)
    return Infrastructure(
        labels=own.labels,
        annotations={key: it for key, it in own.annotations.items() if not _why_left_out(key, it)},
        addresses=addresses.wanted(view, gateway),
        publishing=shape.publishing,
        workload=shape.workload,
        details=shape.details,
        bootstrap=shape.bootstrap,
        is_managed=shape.publishing is not None and instance.managed is not False,
    )


def problems_of(view: View, gateway: NamespacedName) -> Iterator[Problem]:
    """Problems with infrastructure that a Gateway asks for without effect."""
    found, row = view.ask(infrastructure, gateway), view.read(tables.GATEWAYS, gateway)
    asked = row.spec.infrastructure if row is not None else None
    if found is None or asked is None:
        return
    at = problems.gateway(gateway).at("infrastructure")
    if not found.is_managed:
        yield problems.infrastructure_not_made(at)
        return
    for key, it in asked.annotations.items():
        if why := _why_left_out(key, it):
            yield shared.no_effect(at.at("annotations").item(key), why)
    if asked.parameters_ref is not None:
        yield from _of_parameters(view, at.at("parametersRef"), gateway)


def _why_left_out(annotation: str, value: str) -> str:
    """Why an annotation does not go on the objects of a fleet; empty if it does."""
    if annotation.startswith(_OURS):
        return f"only the instance sets annotations that begin with {_OURS}"
    if not restricted.is_restricted(annotation, value):
        return "pods stay within the restricted Pod Security level"
    return ""


_OURS = "projectcontour.io/"
"""The prefix of annotations in which the instance keeps what it needs to manage an object, such as
the pod template to which a rollout goes back."""


def told_of_class(view: View, key: NamespacedName) -> Iterator[Problem]:
    """What is wrong with the parameters of a class, or which of them are in force."""
    found = view.ask(parameters.of_class, key)
    if isinstance(found, Problem):
        yield found
    elif found is not None:
        at = problems.gateway_class(key).at("parametersRef")
        yield from _told(view, at, found, parameters.named_by_class(view, key))


def _of_parameters(view: View, at: Place, gateway: NamespacedName) -> Iterator[Problem]:
    found = parameters.of_gateway(view, gateway)
    if isinstance(found, ContourConfigurationSpec | Asked):
        yield from _told(view, at, found, parameters.named_by_gateway(view, gateway))


def _told(
    view: View, at: Place, found: parameters.Parameters, named: parameters.Named | None
) -> Iterator[Problem]:
    """Which of the usable parameters are in force, and which are not."""
    if named is None or not isinstance(found, Asked):
        yield problems.parameters_hold(at, _mode(view))
        return
    if named.group != ENVOY_GATEWAY:
        yield problems.parameters_of_older_group(at, ENVOY_GATEWAY)
    if _mode(view) != "PerGateway":
        yield problems.parameters_share(at)
    elif fault := view.read(tables.NOT_TAKEN, named.ref):
        yield problems.parameters_not_taken(at, named.ref, fault)


def _shape(view: View, gateway: NamespacedName) -> Shape:
    """The shape of a Gateway's fleet: everything that applies to it, the nearest last."""
    instance, found = _instance(view), view.read(tables.GATEWAYS, gateway)
    shape = Shape(instance.network_publishing, instance.workload, bootstrap=written(instance))
    if found is None or _mode(view) != "PerGateway":
        return shape
    its_class = NamespacedName("", found.spec.gateway_class_name)
    for namer, it in (
        (ObjectRef("GatewayClass", *its_class), view.ask(parameters.of_class, its_class)),
        (ObjectRef("Gateway", *gateway), parameters.of_gateway(view, gateway)),
    ):
        if isinstance(it, Asked):
            shape = applied(shape, it)
        elif isinstance(it, ContourConfigurationSpec) and it.envoy is not None:
            left = Shape() if parameters.may_set_everything(view, namer) else shape
            shape = _replaced(shape, it.envoy, left)
    return shape


def _replaced(shape: Shape, nearer: Envoy, left: Shape) -> Shape:
    """The shape with a nearer ContourConfiguration, which replaces `workload` and
    `networkPublishing` each as a whole; `left` has what it may not set, and so keeps."""
    publishing, workload, details = nearer.network_publishing, nearer.workload, shape.details
    if workload is not None:
        placement = left.workload.placement if left.workload is not None else None
        workload = replace(workload, placement=workload.placement or placement)
        pods = replace(left.details.pods, labels={}, strategy={}, log_levels={})
        details = Details(pods=pods, service=details.service)
    if publishing is not None:
        details = replace(details, service=Service())
    return Shape(
        publishing or shape.publishing,
        workload or shape.workload,
        details,
        written(nearer) or shape.bootstrap,
    )


def written(envoy: Envoy | None) -> OwnBootstrap | None:
    """The bootstrap that a ContourConfiguration says."""
    if envoy is None or envoy.bootstrap is None:
        return None
    return OwnBootstrap(envoy.bootstrap, "spec.envoy.bootstrap")


def _instance(view: View) -> Envoy:
    found = view.ask(settings.chosen_configuration, ())
    return (found.spec.envoy if found is not None else None) or Envoy()


def _mode(view: View) -> str:
    return view.ask(settings.gateway_mode, ())
