"""The kinds of objects that the project reads: their names, versions and models."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from crds.clustertrustbundle import GROUP as CERTIFICATES
from crds.clustertrustbundle import ClusterTrustBundle
from crds.configmap import ConfigMap
from crds.contourconfiguration import ContourConfiguration
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
from crds.gateway.references import EXPERIMENTAL_GROUP
from crds.gateway.streams import TCPRoute, TLSRoute, UDPRoute
from crds.gateway.telemetrypolicy import XTelemetryPolicy
from crds.gateway.xbackend import XBackend
from crds.gateway.xbackendtrafficpolicy import XBackendTrafficPolicy
from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress, IngressClass
from crds.namespace import Namespace
from crds.secret import Secret
from crds.service import Service

CONTOUR = "projectcontour.io"
ENVOY_GATEWAY = "gateway.envoyproxy.io"
OLDER_ENVOY_GATEWAY = "config.gateway.envoyproxy.io"
EXTENSIONS = "apiextensions.k8s.io"
GATEWAY = "gateway.networking.k8s.io"
MARIN3R = "marin3r.3scale.net"
NETWORKING = "networking.k8s.io"


class Kind(NamedTuple):
    """A kind of Kubernetes object."""

    group: str
    """The API group; empty for the core group."""
    kind: str
    plural: str
    versions: tuple[str, ...]
    """The versions that are read, all with the same fields. The first is the one that is
    written."""
    namespaced: bool
    model: type
    has_status: bool = False
    """Whether the control plane writes the status of its objects."""
    short_names: tuple[str, ...] = ()
    ours: bool = False
    """Whether its CRD is generated here."""
    opt_in: bool = False
    """Whether its CRD, and the rights to it, come in a file of their own for the whole group, which
    an administrator applies or does not."""
    older_group: str = ""
    """Another group in which objects of the kind are read from files, with a warning; or none."""
    stand_in: type | None = None
    """The model of what is read of an object with errors: it guards others, which do not name it,
    and they must not be open because of the errors."""
    is_asked_for: bool = False
    """Whether `contour serve` follows it only where its configuration asks for it
    (`spec.discovery`)."""

    @property
    def api_version(self) -> str:
        """The API group and version in which objects are written."""
        return f"{self.group}/{self.versions[0]}" if self.group else self.versions[0]


_ALL = (
    Kind("", "Namespace", "namespaces", ("v1",), False, Namespace, short_names=("ns",)),
    Kind("", "Service", "services", ("v1",), True, Service, short_names=("svc",)),
    Kind("", "Secret", "secrets", ("v1",), True, Secret),
    Kind("", "ConfigMap", "configmaps", ("v1",), True, ConfigMap, short_names=("cm",)),
    Kind(
        CERTIFICATES,
        "ClusterTrustBundle",
        "clustertrustbundles",
        ("v1", "v1beta1"),
        False,
        ClusterTrustBundle,
    ),
    Kind("discovery.k8s.io", "EndpointSlice", "endpointslices", ("v1",), True, EndpointSlice),
    Kind(
        EXTENSIONS,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        ("v1",),
        False,
        CustomResourceDefinition,
        short_names=("crd", "crds"),
    ),
    Kind(NETWORKING, "IngressClass", "ingressclasses", ("v1",), False, IngressClass),
    Kind(NETWORKING, "Ingress", "ingresses", ("v1",), True, Ingress, True, ("ing",)),
    Kind(CONTOUR, "HTTPProxy", "httpproxies", ("v1",), True, HTTPProxy, True)._replace(
        short_names=("proxy", "proxies"), ours=True
    ),
    Kind(
        CONTOUR,
        "TLSCertificateDelegation",
        "tlscertificatedelegations",
        ("v1",),
        True,
        TLSCertificateDelegation,
        True,
        ("tlscerts",),
        True,
    ),
    Kind(
        CONTOUR, "ExtensionService", "extensionservices", ("v1alpha1",), True, ExtensionService
    )._replace(has_status=True, short_names=("extensionservice", "extensionservices"), ours=True),
    Kind(
        CONTOUR,
        "ContourConfiguration",
        "contourconfigurations",
        ("v1alpha1",),
        True,
        ContourConfiguration,
        True,
        ("contourconfig",),
        True,
    ),
    Kind(
        GATEWAY, "GatewayClass", "gatewayclasses", ("v1", "v1beta1"), False, GatewayClass
    )._replace(has_status=True, short_names=("gc",)),
    Kind(GATEWAY, "Gateway", "gateways", ("v1", "v1beta1"), True, Gateway, True, ("gtw",)),
    Kind(GATEWAY, "HTTPRoute", "httproutes", ("v1", "v1beta1"), True, HTTPRoute, True),
    Kind(GATEWAY, "GRPCRoute", "grpcroutes", ("v1",), True, GRPCRoute, True),
    Kind(GATEWAY, "TLSRoute", "tlsroutes", ("v1", "v1alpha3", "v1alpha2"), True, TLSRoute, True),
    Kind(GATEWAY, "TCPRoute", "tcproutes", ("v1", "v1alpha2"), True, TCPRoute, True),
    Kind(GATEWAY, "UDPRoute", "udproutes", ("v1", "v1alpha2"), True, UDPRoute, True),
    Kind(GATEWAY, "ListenerSet", "listenersets", ("v1",), True, ListenerSet, True, ("lset",)),
    Kind(
        GATEWAY,
        "BackendTLSPolicy",
        "backendtlspolicies",
        ("v1", "v1alpha3"),
        True,
        BackendTLSPolicy,
    )._replace(has_status=True, short_names=("btlspolicy",)),
    Kind(
        GATEWAY, "ReferenceGrant", "referencegrants", ("v1beta1", "v1"), True, ReferenceGrant
    )._replace(short_names=("refgrant",)),
    Kind(
        EXPERIMENTAL_GROUP,
        "XTelemetryPolicy",
        "xtelemetrypolicies",
        ("v1alpha1",),
        True,
        XTelemetryPolicy,
    )._replace(has_status=True, short_names=("xtelemetrypolicy",)),
    Kind(EXPERIMENTAL_GROUP, "XBackend", "xbackends", ("v1alpha1",), True, XBackend)._replace(
        has_status=True, short_names=("xbackend",)
    ),
    Kind(
        EXPERIMENTAL_GROUP,
        "XBackendTrafficPolicy",
        "xbackendtrafficpolicies",
        ("v1alpha1",),
        True,
        XBackendTrafficPolicy,
    )._replace(has_status=True, short_names=("xbtrafficpolicy",)),
    Kind(
        ENVOY_GATEWAY,
        "AuthenticationFilter",
        "authenticationfilters",
        ("v1alpha1",),
        True,
        AuthenticationFilter,
    )._replace(ours=True, opt_in=True),
    Kind(
        ENVOY_GATEWAY, "RateLimitFilter", "ratelimitfilters", ("v1alpha1",), True, RateLimitFilter
    )._replace(has_status=True, ours=True, opt_in=True),
    Kind(
        ENVOY_GATEWAY, "HTTPRouteFilter", "httproutefilters", ("v1alpha1",), True, HTTPRouteFilter
    )._replace(short_names=("hrf",), ours=True, opt_in=True),
    Kind(ENVOY_GATEWAY, "EnvoyProxy", "envoyproxies", ("v1alpha1",), True, EnvoyProxy)._replace(
        has_status=True,
        short_names=("eproxy",),
        ours=True,
        opt_in=True,
        older_group=OLDER_ENVOY_GATEWAY,
    ),
    Kind(
        ENVOY_GATEWAY, "SecurityPolicy", "securitypolicies", ("v1alpha1",), True, SecurityPolicy
    )._replace(has_status=True, short_names=("sp",), ours=True, opt_in=True, stand_in=UnreadPolicy),
    Kind(
        ENVOY_GATEWAY,
        "ClientTrafficPolicy",
        "clienttrafficpolicies",
        ("v1alpha1",),
        True,
        ClientTrafficPolicy,
    )._replace(
        has_status=True, short_names=("ctp",), ours=True, opt_in=True, stand_in=UnreadPolicy
    ),
    Kind(
        ENVOY_GATEWAY,
        "BackendTrafficPolicy",
        "backendtrafficpolicies",
        ("v1alpha1",),
        True,
        BackendTrafficPolicy,
    )._replace(
        has_status=True, short_names=("btp",), ours=True, opt_in=True, stand_in=UnreadPolicy
    ),
    Kind(ENVOY_GATEWAY, "Backend", "backends", ("v1alpha1",), True, Backend)._replace(
        has_status=True, short_names=("be",), ours=True, opt_in=True
    ),
    Kind(
        ENVOY_GATEWAY,
        "EnvoyExtensionPolicy",
        "envoyextensionpolicies",
        ("v1alpha1",),
        True,
        EnvoyExtensionPolicy,
    )._replace(has_status=True, short_names=("eep",), opt_in=True, stand_in=UnreadPolicy),
    Kind(
        ENVOY_GATEWAY,
        "EnvoyPatchPolicy",
        "envoypatchpolicies",
        ("v1alpha1",),
        True,
        EnvoyPatchPolicy,
    )._replace(has_status=True, short_names=("epp",), ours=True, opt_in=True),
    Kind(MARIN3R, "EnvoyConfig", "envoyconfigs", ("v1alpha1",), True, EnvoyConfig)._replace(
        has_status=True, short_names=("ec",), ours=True, opt_in=True, is_asked_for=True
    ),
    Kind(
        MARIN3R,
        "EnvoyConfigRevision",
        "envoyconfigrevisions",
        ("v1alpha1",),
        True,
        EnvoyConfigRevision,
    )._replace(has_status=True, short_names=("ecr",), ours=True, opt_in=True, is_asked_for=True),
)

KINDS: Mapping[tuple[str, str], Kind] = MappingProxyType({(it.group, it.kind): it for it in _ALL})
"""By group and kind."""

OLDER: Mapping[tuple[str, str], Kind] = MappingProxyType(
    {(it.older_group, it.kind): it for it in _ALL if it.older_group}
)
"""Those that have an older group, by it and kind."""

IN_CLUSTERS = tuple(it for it in _ALL if not it.is_asked_for)
"""Those that every instance in a cluster reads."""

ASKED_FOR = tuple(it for it in _ALL if it.is_asked_for)
"""Those that an instance reads where its configuration asks for it."""
