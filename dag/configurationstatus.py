"""The status of a ContourConfiguration.

It reports invalid values (`configuration`), named objects that cannot be used (`defaults`), and
fields that are not served yet.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from crds.contourconfiguration import ContourConfiguration
from crds.envoysettings import Envoy
from crds.meta import NamespacedName
from crds.unserved import unserved
from dag import (
    classicclaims,
    contourstatus,
    defaults,
    entrypoints,
    exports,
    fleets,
    hookservers,
    nodes,
    ratelimitservice,
    releases,
    tables,
)
from dag.configuration import logs, monitoring, publishing, reading, settings
from dag.engine.view import Query, View, query
from dag.fleetnames import DEFAULT_FLEET
from dag.problems import Problem
from dag.problems import configuration as problems
from dag.problems.places import Place
from dag.statuses import ContourStatus


@query
def status(view: View, key: NamespacedName) -> ContourStatus | None:
    """Whether a ContourConfiguration counts, and which of its values do not."""
    found, name = view.read(tables.CONFIGURATIONS, key), view.read(tables.CONFIGURATION_NAME, ())
    if found is None or name not in {None, key}:
        return None
    told = (*_errors(view, found, is_named=name is not None), *_warnings(view, found))
    return contourstatus.status(problems.KIND, told)


def _warnings(view: View, found: ContourConfiguration) -> Iterator[Problem]:
    spec, envoy = problems.spec(found.metadata.key), found.spec.envoy or Envoy()
    yield from _ignored(view, found, spec)
    yield from publishing.without_effect(spec, envoy)
    yield from logs.without_effect(spec, envoy)
    if view.ask(settings.chosen_configuration, ()) == found:
        yield from _unplaced(view, spec)
        if view.read(tables.HOST_PORTS, ()) is None:
            yield from monitoring.taken_in_pods(spec, envoy)
            yield from monitoring.unprobed_in_pods(spec, found.spec.health)
            yield from _bound_twice(view, spec)
        for text in fleets.without_http3(view, DEFAULT_FLEET):
            yield problems.ignored_field(spec.at("envoy").at("listener").at("http3"), text)
        if _leaves_gateways_without_a_fleet(view, envoy):
            yield problems.gateways_without_fleet(spec)
        for who in releases.behind(view):
            yield problems.old_release(spec, who, releases.written(releases.BUILT_FOR))
        for text in _left_alone(view, found):
            yield problems.left_alone(spec, text)
        yield from hookservers.remarked(view, spec)
        for it in _troubles(view, is_error=False):
            told = problems.fleet_changed_by_others if it.is_settled else problems.fleet_waits
            yield told(_concerned(spec, it), it.message)


def _left_alone(view: View, found: ContourConfiguration) -> Iterator[str]:
    """The namespaces that are left alone, with the reasons, among those that are named now."""
    discovery = found.spec.discovery
    named = (discovery.namespaces or (found.metadata.namespace,)) if discovery is not None else ()
    every = view.read(tables.LEFT_ALONE, ()) or ()
    yield from (it for it in every if it.partition(":")[0] in named)


def _errors(view: View, found: ContourConfiguration, *, is_named: bool) -> Iterator[Problem]:
    spec = problems.spec(found.metadata.key)
    others = sorted(view.bucket(tables.ALL_CONFIGURATIONS, ()) - {found.metadata.key})
    if others and not is_named:
        yield problems.several_configurations(spec, others[0])
    yield from reading.resolved(found)[1]
    if view.ask(settings.chosen_configuration, ()) == found:
        yield from defaults.problems_of(view)
        yield from hookservers.problems_of(view, spec)
        if fleets.is_behind_itself(view, (found.spec.envoy or Envoy()).network_publishing):
            text = "is of our own controller, which is behind it"
            yield problems.unresolved(publishing.outer_class(spec), text)
        for text in view.read(tables.PROCESS_FAULTS, ()) or ():
            yield problems.not_applied(spec, text)
        for trouble in _troubles(view, is_error=True):
            yield problems.fleet_not_provisioned(_concerned(spec, trouble), trouble.message)
        for trouble in view.read(fleets.PROBLEMS, exports.FLEET) or ():
            yield problems.certificate_not_made(spec, trouble.message)
        yield from ratelimitservice.problems_of(view, spec)
    for field in unserved(found):
        if field.guards:
            yield problems.unsupported_guard(spec._replace(path=field.path))


def _bound_twice(view: View, spec: Place) -> Iterator[Problem]:
    bound = view.ask(settings.ports, ())
    if bound.http_bind == bound.https_bind:
        text = f"{bound.https_bind} is the port of plain HTTP already, so another one is bound"
        yield problems.ignored_field(spec.at("envoy").at("https").at("port"), text)


_PROTOCOLS: tuple[nodes.Protocol, ...] = ("HTTP", "HTTPS")


def _unplaced(view: View, spec: Place) -> Iterator[Problem]:
    for protocol in _PROTOCOLS:
        missing = view.ask(entrypoints.missing_listener, protocol)
        if missing is not None and classicclaims.has_hosts(view, protocol):
            has = "more than one, none on the usual port" if missing.is_ambiguous else "none"
            yield problems.no_listener(spec, protocol, missing.gateway, has)


def _leaves_gateways_without_a_fleet(view: View, envoy: Envoy) -> bool:
    is_one_machine = view.read(tables.HOST_PORTS, ()) is not None
    is_silent = envoy.network_publishing is None and not is_one_machine
    return is_silent and view.count(fleets.UNPUBLISHED, ()) > 0


def _concerned(spec: Place, found: fleets.FleetProblem) -> Place:
    """The field that a problem of the shared fleet is about."""
    envoy, field = spec.at("envoy"), _FIELDS[found.concerns]
    return envoy.at(field) if field else envoy


_FIELDS: Mapping[fleets.Concern, str] = {
    "all": "",
    "publishing": "networkPublishing",
    "workload": "workload",
    "bootstrap": "bootstrap",
}


def _troubles(view: View, *, is_error: bool) -> Iterator[fleets.FleetProblem]:
    found = view.read(fleets.PROBLEMS, DEFAULT_FLEET) or ()
    return (it for it in found if it.is_error is is_error)


def _ignored(view: View, found: ContourConfiguration, spec: Place) -> Iterator[Problem]:
    for it in unserved(found):
        if not it.guards:
            yield problems.ignored_field(spec._replace(path=it.path), it.why)
    listener = spec.at("envoy").at("listener")
    if view.ask(settings.settings, ()).routing not in ("Auto", view.ask(settings.routing, ())):
        yield problems.restart_needed(listener.at("routing"))
    yield from _bootstrap(view, found.spec.envoy or Envoy(), spec.at("envoy").at("bootstrap"))
    edge, options = reading.resolved(found)[0].edge, view.read(tables.SOCKET_OPTIONS, ())
    if options is not None and options != (edge.tos, edge.traffic_class):
        yield problems.restart_needed(listener.at("socketOptions"), ", on one machine")


def _bootstrap(view: View, envoy: Envoy, at: Place) -> Iterator[Problem]:
    started = view.read(tables.STARTED_WITH, ())
    if started is None:
        return  # in a cluster, whoever makes Envoys tells what is wrong
    if started.is_overridden and envoy.bootstrap is not None:
        yield problems.ignored_field(at, "contour run was given another one by --bootstrap")
    elif not started.is_overridden and started.custom != envoy.bootstrap:
        yield problems.restart_needed(at, ", on one machine")


STATUSES: Mapping[str, Query[NamespacedName, Any]] = {"ContourConfiguration": status}
