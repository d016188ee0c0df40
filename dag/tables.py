"""The inputs of the rules: one table for each kind, and indexes over them.

Whatever a provider reads goes into these tables, each write under the object's key. A bucket of an
index holds exactly what its readers compare. Indexes that belong to one API are defined beside its
rules.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from crds.clustertrustbundle import ClusterTrustBundle
from crds.configmap import ConfigMap
from crds.contourconfiguration import ContourConfiguration
from crds.custombootstrap import CustomBootstrap
from crds.customresourcedefinition import CustomResourceDefinition
from crds.delegation import TLSCertificateDelegation
from crds.endpointslice import EndpointSlice
from crds.envoyconfig import EnvoyConfig
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.envoygateway.authenticationfilter import AuthenticationFilter
from crds.envoygateway.backend import Backend
from crds.envoygateway.backendtrafficpolicy import BackendTrafficPolicy
from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicy
from crds.envoygateway.envoyproxy import EnvoyProxy
from crds.envoygateway.extensionpolicy import EnvoyExtensionPolicy
from crds.envoygateway.httproutefilter import HTTPRouteFilter
from crds.envoygateway.patchpolicy import EnvoyPatchPolicy
from crds.envoygateway.policytargets import UnreadPolicy
from crds.envoygateway.ratelimitfilter import RateLimitFilter
from crds.envoygateway.securitypolicy import SecurityPolicy
from crds.extensionservice import ExtensionService
from crds.gateway.backendtlspolicy import BackendTLSPolicy
from crds.gateway.gateway import Gateway
from crds.gateway.gatewayclass import GatewayClass
from crds.gateway.grpcroute import GRPCRoute
from crds.gateway.httproute import HTTPRoute
from crds.gateway.listenerset import ListenerSet
from crds.gateway.referencegrant import ReferenceGrant
from crds.gateway.streams import TCPRoute, TLSRoute, UDPRoute
from crds.gateway.telemetrypolicy import XTelemetryPolicy
from crds.gateway.xbackend import XBackend
from crds.gateway.xbackendtrafficpolicy import XBackendTrafficPolicy
from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress, IngressClass
from crds.meta import NamespacedName, ObjectRef
from crds.namespace import Namespace
from crds.secret import Secret
from crds.service import Service
from dag.engine.view import Family, Index, Table

INGRESSES: Table[NamespacedName, Ingress] = Table("Ingress")
INGRESS_CLASSES: Table[NamespacedName, IngressClass] = Table("IngressClass")
SERVICES: Table[NamespacedName, Service] = Table("Service")
ENDPOINT_SLICES: Table[NamespacedName, EndpointSlice] = Table("EndpointSlice")
SECRETS: Table[NamespacedName, Secret] = Table("Secret")
CONFIG_MAPS: Table[NamespacedName, ConfigMap] = Table("ConfigMap")
CLUSTER_TRUST_BUNDLES: Table[NamespacedName, ClusterTrustBundle] = Table("ClusterTrustBundle")
NAMESPACES: Table[NamespacedName, Namespace] = Table("Namespace")
CRDS: Table[NamespacedName, CustomResourceDefinition] = Table("CustomResourceDefinition")
HTTPPROXIES: Table[NamespacedName, HTTPProxy] = Table("HTTPProxy")
DELEGATIONS: Table[NamespacedName, TLSCertificateDelegation] = Table("TLSCertificateDelegation")
EXTENSION_SERVICES: Table[NamespacedName, ExtensionService] = Table("ExtensionService")
GATEWAY_CLASSES: Table[NamespacedName, GatewayClass] = Table("GatewayClass")
GATEWAYS: Table[NamespacedName, Gateway] = Table("Gateway")
HTTPROUTES: Table[NamespacedName, HTTPRoute] = Table("HTTPRoute")
GRPCROUTES: Table[NamespacedName, GRPCRoute] = Table("GRPCRoute")
TLSROUTES: Table[NamespacedName, TLSRoute] = Table("TLSRoute")
TCPROUTES: Table[NamespacedName, TCPRoute] = Table("TCPRoute")
UDPROUTES: Table[NamespacedName, UDPRoute] = Table("UDPRoute")
LISTENER_SETS: Table[NamespacedName, ListenerSet] = Table("ListenerSet")
BACKEND_TLS_POLICIES: Table[NamespacedName, BackendTLSPolicy] = Table("BackendTLSPolicy")
TELEMETRY_POLICIES: Table[NamespacedName, XTelemetryPolicy] = Table("XTelemetryPolicy")
XBACKENDS: Table[NamespacedName, XBackend] = Table("XBackend")
XBACKEND_TRAFFIC_POLICIES: Table[NamespacedName, XBackendTrafficPolicy] = Table(
    "XBackendTrafficPolicy"
)
BACKENDS: Table[NamespacedName, Backend] = Table("Backend")
GRANTS: Table[NamespacedName, ReferenceGrant] = Table("ReferenceGrant")
CONFIGURATIONS: Table[NamespacedName, ContourConfiguration] = Table("ContourConfiguration")
AUTHENTICATION_FILTERS: Table[NamespacedName, AuthenticationFilter] = Table("AuthenticationFilter")
RATE_LIMIT_FILTERS: Table[NamespacedName, RateLimitFilter] = Table("RateLimitFilter")
HTTP_ROUTE_FILTERS: Table[NamespacedName, HTTPRouteFilter] = Table("HTTPRouteFilter")
SECURITY_POLICIES: Table[NamespacedName, SecurityPolicy | UnreadPolicy] = Table("SecurityPolicy")
"""For a policy that cannot be read, an UnreadPolicy with its targets, which are closed."""
CLIENT_TRAFFIC_POLICIES: Table[NamespacedName, ClientTrafficPolicy | UnreadPolicy] = Table(
    "ClientTrafficPolicy"
)
"""The same."""
TRAFFIC_POLICIES: Table[NamespacedName, BackendTrafficPolicy | UnreadPolicy] = Table(
    "BackendTrafficPolicy"
)
"""The same."""
EXTENSION_POLICIES: Table[NamespacedName, EnvoyExtensionPolicy | UnreadPolicy] = Table(
    "EnvoyExtensionPolicy"
)
"""The same."""
PATCH_POLICIES: Table[NamespacedName, EnvoyPatchPolicy] = Table("EnvoyPatchPolicy")
ENVOY_PROXIES: Table[NamespacedName, EnvoyProxy] = Table("EnvoyProxy")
ENVOY_CONFIGS: Table[NamespacedName, EnvoyConfig] = Table("EnvoyConfig")
ENVOY_CONFIG_REVISIONS: Table[NamespacedName, EnvoyConfigRevision] = Table("EnvoyConfigRevision")

BY_KIND: Mapping[str, Table[NamespacedName, Any]] = {
    table.name: table
    for table in (
        INGRESSES,
        INGRESS_CLASSES,
        SERVICES,
        ENDPOINT_SLICES,
        SECRETS,
        CONFIG_MAPS,
        CLUSTER_TRUST_BUNDLES,
        NAMESPACES,
        CRDS,
        HTTPPROXIES,
        DELEGATIONS,
        EXTENSION_SERVICES,
        GATEWAY_CLASSES,
        GATEWAYS,
        HTTPROUTES,
        GRPCROUTES,
        TLSROUTES,
        TCPROUTES,
        UDPROUTES,
        LISTENER_SETS,
        BACKEND_TLS_POLICIES,
        TELEMETRY_POLICIES,
        XBACKENDS,
        XBACKEND_TRAFFIC_POLICIES,
        BACKENDS,
        GRANTS,
        CONFIGURATIONS,
        AUTHENTICATION_FILTERS,
        RATE_LIMIT_FILTERS,
        HTTP_ROUTE_FILTERS,
        SECURITY_POLICIES,
        TRAFFIC_POLICIES,
        EXTENSION_POLICIES,
        CLIENT_TRAFFIC_POLICIES,
        PATCH_POLICIES,
        ENVOY_PROXIES,
        ENVOY_CONFIGS,
        ENVOY_CONFIG_REVISIONS,
    )
}

# Facts about the process itself; most have the empty key.

TOLD_OF_OBJECTS = Family()
"""Tables with problems of objects from outside the rules: each status reads all of them."""

NOT_TAKEN: Table[ObjectRef, str] = Table("not taken", TOLD_OF_OBJECTS)
"""Why the newest version of an object did not replace the last good one; no row if it did."""

ABSENT: Table[str, bool] = Table("kinds not served")
"""By kind: True while the API server does not serve the kind; else no row."""

UNKNOWN_FIELDS: Table[ObjectRef, tuple[str, ...]] = Table("unknown fields", TOLD_OF_OBJECTS)
"""The unknown fields of an object, which were left out when it was read, sorted, as texts for
users; no row if there are none."""

FLEETS: Table[str, bool] = Table("fleets")
"""The fleets served whatever the objects say: there is always that of Ingress and HTTPProxy."""

CONFIGURATION_NAME: Table[tuple[()], NamespacedName] = Table("configuration name")
"""The ContourConfiguration that an instance in a cluster follows; others are other instances'."""

PROCESS_FAULTS: Table[tuple[()], tuple[str, ...]] = Table("process faults")
"""Settings of the process itself that could not be applied, and why; no row if there are none."""

LEFT_ALONE: Table[tuple[()], tuple[str, ...]] = Table("namespaces left alone")
"""The namespaces of `spec.discovery` in which nothing is written, each with the reason, sorted; no
row if there are none."""

HOST_PORTS: Table[tuple[()], Any] = Table("host ports")
"""How ports are bound by a process that serves one machine (`dag.ports.HostPorts`); else no row."""

ACCEPTANCE_ASSUMED: Table[tuple[()], bool] = Table("acceptance assumed")
"""True where manifests are only translated: no Envoy is there to accept anything. Else no row."""

TRANSLATED: Table[tuple[()], bool] = Table("translated")
"""True where the answers of the rules are translated for Envoy; else no row."""

LOOPBACK_REFUSED: Table[tuple[()], bool] = Table("loopback refused")
"""True in a cluster, where only Envoy is on the loopback interface of its pod; else no row."""

BEGAN_SMALL: Table[tuple[()], bool] = Table("began small")
"""True on one machine if Envoy started with its control plane and with few hosts; else no row."""

ROUTING: Table[tuple[()], str] = Table("routing")
"""How hosts of listeners were cut into resources when first served; it never changes."""

SOCKET_OPTIONS: Table[tuple[()], tuple[int | None, int | None]] = Table("socket options")
"""The TOS field and traffic class of sockets, where these cannot change; else no row."""

HELD_SOCKETS: Table[tuple[str, str], tuple[object, ...]] = Table("options of the sockets of ports")
"""By fleet and listener: the socket options that a policy asked for when the sockets were opened,
where these cannot change; no row if none."""


class StartedWith(NamedTuple):
    """The bootstrap that the Envoy on this machine was started with."""

    custom: CustomBootstrap | None
    """The custom bootstrap of the configuration; None if it had none."""
    is_overridden: bool
    """The command line named another bootstrap."""


STARTED_WITH: Table[tuple[()], StartedWith] = Table("bootstrap of the Envoy on this machine")
"""No row in a cluster."""

CONTROLLER_NAMES: Table[tuple[()], str] = Table("controller name")
"""The controller name that was given to the process, overriding the configuration's."""


def _service_of(_: NamespacedName, slice_: EndpointSlice) -> Iterable[tuple[NamespacedName, Any]]:
    name = slice_.metadata.labels.get("kubernetes.io/service-name")
    if name:
        yield NamespacedName(slice_.metadata.namespace, name), slice_.metadata.key


SLICES_OF: Index[NamespacedName, NamespacedName] = Index(
    "slices of a Service", ENDPOINT_SLICES, _service_of
)


def _namespace(key: NamespacedName, _: Any) -> Iterable[tuple[str, NamespacedName]]:
    yield key.namespace, key


GRANTS_IN: Index[str, NamespacedName] = Index("grants in a namespace", GRANTS, _namespace)
DELEGATIONS_IN: Index[str, NamespacedName] = Index(
    "delegations in a namespace", DELEGATIONS, _namespace
)


def _everywhere(key: NamespacedName, _: Any) -> Iterable[tuple[tuple[()], NamespacedName]]:
    yield (), key


ALL_CONFIGURATIONS: Index[tuple[()], NamespacedName] = Index(
    "all configurations", CONFIGURATIONS, _everywhere
)

INDEXES = (SLICES_OF, GRANTS_IN, DELEGATIONS_IN, ALL_CONFIGURATIONS)
