"""What the author of a ContourConfiguration is told.

Values that make no sense (`configuration`), objects that it names and that cannot serve
(`defaults`), and what is not served yet.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from crds.contourconfiguration import ContourConfiguration
from crds.envoysettings import Envoy
from crds.meta import NamespacedName
from crds.unserved import unserved
from dag import contourstatus, defaults, fleets, hosts, listeners, nodes, releases, tables
from dag.configuration import publishing, reading, settings
from dag.engine.view import Query, View, query
from dag.listeners import DEFAULT_FLEET
from dag.statuses import Condition, ContourStatus, SubCondition


@query
def status(view: View, key: NamespacedName) -> ContourStatus | None:
    """Whether a ContourConfiguration counts, and which of its values do not."""
    found, name = view.read(tables.CONFIGURATIONS, key), view.read(tables.CONFIGURATION_NAME, ())
    if found is None or name not in {None, key}:
        return None
    errors = tuple(_errors(view, found, is_named=name is not None))
    warnings = tuple(_warnings(view, found))
    valid = (
        contourstatus.INVALID
        if errors
        else Condition("Valid", "True", "Valid", "Valid ContourConfiguration")
    )
    state: Literal["valid", "invalid"] = "invalid" if errors else "valid"
    return ContourStatus(valid, state, errors, warnings)


def _warnings(view: View, found: ContourConfiguration) -> Iterator[SubCondition]:
    for text in (*_ignored(view, found), *publishing.without_effect(found.spec.envoy or Envoy())):
        yield SubCondition("SpecError", "IgnoredField", text)
    if view.ask(settings.chosen_configuration, ()) == found:
        for text in _unplaced(view):
            yield SubCondition("ListenerError", "ErrorIdentifyingListener", text)
        if _leaves_gateways_without_a_fleet(view, found.spec.envoy or Envoy()):
            yield SubCondition("FleetError", "NotProvisioned", f"{_FLEET}: {_UNPUBLISHED}")
        for who in releases.behind(view):
            built_for = releases.written(releases.BUILT_FOR)
            yield SubCondition("EnvoyError", "OldRelease", f"{who} older than {built_for}: {_OLD}")
        for it in _troubles(view, is_error=False):
            reason = "ChangedByOthers" if it.is_settled else "Waiting"
            yield SubCondition("FleetError", reason, f"{_FLEET}: {it.message}")


def _errors(view: View, found: ContourConfiguration, *, is_named: bool) -> Iterator[SubCondition]:
    others = sorted(view.bucket(tables.ALL_CONFIGURATIONS, ()) - {found.metadata.key})
    if others and not is_named:
        message = f"defaults hold while there are several ContourConfigurations; also {others[0]}"
        yield SubCondition("SpecError", "SeveralConfigurations", message)
    yield from reading.resolved(found.spec)[1]
    if view.ask(settings.chosen_configuration, ()) == found:
        for it in defaults.faults(view):
            yield SubCondition("SpecError", "UnresolvedReference", f"{it.path}: {it.text}")
        if fleets.is_behind_itself(view, (found.spec.envoy or Envoy()).network_publishing):
            text = f"{publishing.OUTER_CLASS}: is of our own controller, which is behind it"
            yield SubCondition("SpecError", "UnresolvedReference", text)
        for text in view.read(tables.PROCESS_FAULTS, ()) or ():
            yield SubCondition("SpecError", "NotDone", text)
        for trouble in _troubles(view, is_error=True):
            yield SubCondition("FleetError", "NotProvisioned", f"{_FLEET}: {trouble.message}")
    for field in unserved(found):
        if field.guards:
            yield SubCondition("SpecError", "UnsupportedField", f"{field.path}: {_CLOSED}")


_PROTOCOLS: tuple[nodes.Protocol, ...] = ("HTTP", "HTTPS")


def _unplaced(view: View) -> Iterator[str]:
    """Hosts of Ingress and HTTPProxy that the Gateway in charge leaves without a listener."""
    for protocol in _PROTOCOLS:
        lack = view.ask(listeners.lack, protocol)
        if lack is not None and hosts.has_hosts(view, protocol):
            many = "more than one, none on the usual port" if lack.is_open else "none"
            yield (
                "spec.envoy.externalPorts: hosts of Ingress and HTTPProxy are not served over "
                f"{protocol}: Gateway {lack.gateway} decides the ports and has {many}"
            )


def _leaves_gateways_without_a_fleet(view: View, envoy: Envoy) -> bool:
    is_one_machine = view.read(tables.HOST_PORTS, ()) is not None
    is_silent = envoy.network_publishing is None and not is_one_machine
    return is_silent and view.count(fleets.UNPUBLISHED, ()) > 0


_CLOSED = "is not served yet; until then every host is answered with 503"


_OLD = "this release is tried with no older one; what they are known not to load is left out there"
_FLEET = "spec.envoy.networkPublishing"
_UNPUBLISHED = "is not set, so that no fleet is made for Gateways whose class sets none either"


def _troubles(view: View, *, is_error: bool) -> Iterator[fleets.Trouble]:
    found = view.read(fleets.TROUBLES, DEFAULT_FLEET) or ()
    return (it for it in found if it.is_error is is_error)


def _ignored(view: View, found: ContourConfiguration) -> Iterator[str]:
    yield from (f"{it.path}: {it.why}" for it in unserved(found) if not it.guards)
    if view.ask(settings.settings, ()).routing != view.ask(settings.routing, ()):
        yield "spec.envoy.listener.routing: holds from the next start on"
    edge, options = reading.resolved(found.spec)[0].edge, view.read(tables.SOCKET_OPTIONS, ())
    if options is not None and options != (edge.tos, edge.traffic_class):
        yield "spec.envoy.listener.socketOptions: holds from the next start on, on one machine"


STATUSES: Mapping[str, Query[NamespacedName, Any]] = {"ContourConfiguration": status}
