"""The effective settings: what the ContourConfiguration says, and the defaults for the rest.

The ContourConfiguration that the process was told to follow counts; if it was told none, the only
one in existence. If there are several, the defaults hold and each of them says so. Rules ask for
the projection they need, so that a change of another setting leaves them alone. Elsewhere: reading
an object (`configuration`).
"""

from typing import Any, Literal

from crds.contourconfiguration import ContourConfiguration
from crds.discovery import DiscoverySettings
from crds.grpcclients import GrpcClients
from crds.meta import NamespacedName
from crds.records import replace
from dag import nodes, tables
from dag.configuration import headerdefaults, reading
from dag.configuration.reading import Ports, Settings, Timeouts, TlsVersions
from dag.configuration.runtime import Runtime
from dag.engine.view import Query, View, query

_GRPC_CONTROLLER_NAME = "projectcontour.io/grpc-clients"
"""The controller in the statuses of gRPC clients' routes where no Gateway is served, so that we
have no controller name. The default one may be that of another instance, which replaces entries
with its name."""


def controller_in_statuses(name: str | None) -> str:
    """The controller in the statuses of routes, by the controller name of the served
    GatewayClasses, if any are served."""
    return name or _GRPC_CONTROLLER_NAME


@query
def settings(view: View, _: tuple[()]) -> Settings:
    """The settings that are in force."""
    chosen = view.ask(chosen_configuration, ())
    found = Settings() if chosen is None else reading.resolved(chosen)[0]
    name = view.read(tables.CONTROLLER_NAMES, ())
    return found if name is None else replace(found, controller_name=name)


@query
def chosen_configuration(view: View, _: tuple[()]) -> ContourConfiguration | None:
    """The ContourConfiguration that counts: the one that is named, else the only one."""
    name = view.read(tables.CONFIGURATION_NAME, ())
    if name is not None:
        return view.read(tables.CONFIGURATIONS, name)
    keys = view.bucket(tables.ALL_CONFIGURATIONS, ())
    return view.read(tables.CONFIGURATIONS, next(iter(keys))) if len(keys) == 1 else None


@query
def chosen_name(view: View, _: tuple[()]) -> NamespacedName | None:
    """The name of the ContourConfiguration that counts, for rules that need nothing else of it."""
    found = view.ask(chosen_configuration, ())
    return found.metadata.key if found is not None else None


def _projection(name: str) -> Query[tuple[()], Any]:
    def rule(view: View, _: tuple[()]) -> Any:
        return getattr(view.ask(settings, ()), name)

    rule.__name__ = name
    return query(rule)


parameters_namespaces: Query[tuple[()], tuple[str, ...]] = _projection("parameters_namespaces")
patching: Query[tuple[()], tuple[str, ...] | None] = _projection("patching")
gateways_only: Query[tuple[()], bool] = _projection("gateways_only")
class_names: Query[tuple[()], tuple[str, ...]] = _projection("class_names")
root_namespaces: Query[tuple[()], tuple[str, ...]] = _projection("root_namespaces")
disable_permit_insecure: Query[tuple[()], bool] = _projection("disable_permit_insecure")
external_names: Query[tuple[()], bool] = _projection("external_names")
foreign_guards: Query[tuple[()], Literal["Closed", "Report"]] = _projection("foreign_guards")
is_closed: Query[tuple[()], bool] = _projection("is_closed")
controller_name: Query[tuple[()], str] = _projection("controller_name")
gateway_mode: Query[tuple[()], Literal["Single", "PerGateway"]] = _projection("mode")
ports: Query[tuple[()], Ports] = _projection("ports")
tls_versions: Query[tuple[()], TlsVersions] = _projection("tls")
num_trusted_hops: Query[tuple[()], int] = _projection("num_trusted_hops")
timeouts: Query[tuple[()], Timeouts] = _projection("timeouts")
headers: Query[tuple[()], headerdefaults.Defaults] = _projection("headers")
fallback_certificate: Query[tuple[()], NamespacedName | None] = _projection("fallback_certificate")
runtime: Query[tuple[()], Runtime] = _projection("envoy_runtime")
makes_fleet: Query[tuple[()], bool] = _projection("makes_fleet")
monitors: Query[tuple[()], tuple[nodes.Monitor, ...]] = _projection("monitors")
hook_servers: Query[tuple[()], tuple[nodes.HookServer, ...]] = _projection("hook_servers")
grpc_clients: Query[tuple[()], GrpcClients | None] = _projection("grpc_clients")
discovery: Query[tuple[()], DiscoverySettings | None] = _projection("discovery")


@query
def backends(view: View, _: tuple[()]) -> bool:
    """Whether routes may lead to Backends; by default on one machine: its user runs Envoy."""
    said = view.ask(settings, ()).backends
    return not view.read(tables.LOOPBACK_REFUSED, ()) if said is None else said


@query
def routing(view: View, _: tuple[()]) -> str:
    """How hosts are cut into resources. A change while Envoys are served would drain listeners.

    In a cluster the number of hosts must not decide it: replicas have to agree, and Envoys outlive
    their control plane.
    """
    fixed, said = view.read(tables.ROUTING, ()), view.ask(settings, ()).routing
    if fixed is not None or said != "Auto":
        return fixed or said
    return "Single" if view.read(tables.BEGAN_SMALL, ()) else "Shards"
