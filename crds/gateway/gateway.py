"""Gateway: the ports, protocols, host names and certificates that routes are attached to.

Only the checks of the CRD are here; the rules in `dag` report conflicts between listeners. The
types of the client TLS settings are in `frontend.py`.
"""

import re
from collections import Counter
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from crds.fields import HOST, Hostname, Port, Subdomain
from crds.gateway.frontend import GatewayTLSConfig
from crds.gateway.guards import HTTPExternalAuthFilter
from crds.gateway.known import Known
from crds.gateway.references import (
    GROUP,
    Group,
    KindName,
    LocalObjectReference,
    ObjectName,
    SecretObjectReference,
)
from crds.gateway.selector import LabelSelector
from crds.ipaddresses import is_ip_address
from crds.meta import ObjectMeta, model
from crds.rules import rule

Protocol = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"
        r"|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9]+$",
        min_length=1,
        max_length=255,
    ),
]
_Short = Annotated[str, StringConstraints(max_length=4096)]
_LabelValue = Annotated[
    str,
    StringConstraints(pattern=r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", max_length=63),
]


@model
class ListenerTLSConfig:
    """Whether a listener terminates TLS or passes it through, and its certificates."""

    mode: Annotated[str, Known("Terminate", "Passthrough")] = "Terminate"
    """`Terminate` ends TLS at the Gateway; `Passthrough` leaves it to the backend."""
    certificate_refs: tuple[SecretObjectReference, ...] = Field(default=(), max_length=64)
    """Secrets with the certificates that clients are shown."""
    options: dict[str, _Short] = Field(default_factory=dict, max_length=16)
    """Settings of single implementations. None is known here."""
    _certificates = rule(
        "certificateRefs or options must be specified when mode is Terminate",
        lambda it: it.mode != "Terminate" or it.certificate_refs or it.options,
    )


@model
class RouteNamespaces:
    """The namespaces whose routes may attach."""

    from_: Annotated[str, Known("All", "Selector", "Same")] = Field(
        default="Same", validation_alias="from"
    )
    """Which namespaces may attach routes: all, the same, selected ones or none."""
    selector: LabelSelector | None = None
    """Used only with `from: Selector`."""


@model
class RouteGroupKind:
    """A kind of route."""

    group: Group = GROUP
    """The API group of the routes that may attach."""
    kind: KindName
    """The kind of the routes that may attach, such as HTTPRoute."""


@model
class AllowedRoutes:
    """The routes that may attach to a listener."""

    namespaces: RouteNamespaces = RouteNamespaces()
    kinds: tuple[RouteGroupKind, ...] = Field(default=(), max_length=8)
    """If empty, all kinds that the protocol supports."""


@model
class ListenerFilter:
    """One step that every request of a listener takes before it is routed."""

    type: str
    """`ExternalAuth` is served; any other type closes the listener."""
    external_auth: HTTPExternalAuthFilter | None = None
    extension_ref: LocalObjectReference | None = None
    _field = rule(
        "exactly the field that type names must be specified: externalAuth or extensionRef",
        lambda it: (
            it.type not in {"ExternalAuth", "ExtensionRef"}
            or (
                (it.external_auth is not None, it.extension_ref is not None)
                == (it.type == "ExternalAuth", it.type == "ExtensionRef")
            )
        ),
    )


@model
class ListenerFilters:
    """The filters of a listener (v1.7, GEP-5224)."""

    requests: tuple[ListenerFilter, ...] = Field(default=(), max_length=16)
    """They run in this order."""


def _has_tls_only_if_secure(listener: Any) -> bool:
    return listener.tls is None or listener.protocol not in {"HTTP", "TCP", "UDP"}


def _terminates_if_https(listener: Any) -> bool:
    return not (listener.tls and listener.protocol == "HTTPS") or (
        listener.tls.mode != "Passthrough"
    )


@model
class Listener:
    """A port that routes can attach to, for one host name or for all."""

    name: Subdomain
    """The name of the listener, unique in its Gateway; routes refer to it."""
    hostname: Hostname | None = None
    """If absent, all host names."""
    port: Port
    """The port on which clients connect; several listeners may have the same."""
    protocol: Protocol
    """What clients speak on the port: HTTP, HTTPS, TLS, TCP or UDP."""
    tls: ListenerTLSConfig | None = None
    allowed_routes: AllowedRoutes = AllowedRoutes()
    filters: ListenerFilters | None = None
    """Filters that every request passes before it is routed. Only with HTTP and HTTPS: the CRD of
    ListenerSets does not check that, so the rules do."""
    _plain = rule(
        "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']", _has_tls_only_if_secure
    )
    _terminates = rule("tls mode must be Terminate for protocol HTTPS", _terminates_if_https)
    _mode = rule("tls mode must be set for protocol TLS", lambda it: it.protocol != "TLS" or it.tls)
    _nameless = rule(
        "hostname must not be specified for protocols ['TCP', 'UDP']",
        lambda it: it.hostname is None or it.protocol not in {"TCP", "UDP"},
    )


def _fits_its_type(address: Any) -> bool:
    match address.type, address.value:
        case _, None:
            return True
        case "IPAddress", value:
            return is_ip_address(value)
        case "Hostname", value:
            return not value or re.fullmatch(HOST, value) is not None
        case _:
            return True


def _is_scope(text: str) -> bool:
    domain, _, path = text.partition("/")
    is_reserved = domain == "k8s.io" or domain.endswith(".k8s.io")
    return bool(path) and re.fullmatch(_SUBDOMAIN, domain) is not None and not is_reserved


_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


@model
class GatewaySpecAddress:
    """An address that is requested for the Gateway."""

    type: str = Field(default="IPAddress", min_length=1, max_length=253)
    """Whether the address is an IP address or a host name."""
    value: str | None = Field(default=None, max_length=253)
    """If absent, any free address."""
    routability: Annotated[str, StringConstraints(max_length=253)] = ""
    """From where it has to be reached (v1.7, GEP-5093); empty: as the implementation has it."""
    _scope = rule(
        "routability must be empty, Cluster, or a DNS subdomain other than those of k8s.io, / and"
        " a path",
        lambda it: it.routability in {"", "Cluster"} or _is_scope(it.routability),
    )
    _value = rule("value must be an address of its type", _fits_its_type)


_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
)


def _keys_are_names(infrastructure: Any) -> bool:
    keys = (*infrastructure.labels, *infrastructure.annotations)
    return all(_KEY.fullmatch(it) and len(it.partition("/")[0]) < 253 for it in keys)


@model
class GatewayInfrastructure:
    """Labels, annotations and parameters of everything that is made for the Gateway.

    `dag.gateway.infrastructure` reads it for the controller of fleets.
    """

    labels: dict[str, _LabelValue] = Field(default_factory=dict, max_length=8)
    """Labels of the objects that are created for the Gateway."""
    annotations: dict[str, _Short] = Field(default_factory=dict, max_length=16)
    """Annotations of the objects that are created for the Gateway."""
    parameters_ref: LocalObjectReference | None = None
    _keys = rule("keys must be names, perhaps with a DNS name and / before them", _keys_are_names)


@model
class ListenerNamespaces:
    """The namespaces whose ListenerSets may attach."""

    from_: Annotated[str, Known("All", "Selector", "Same", "None")] = Field(
        default="None", validation_alias="from"
    )
    """Which namespaces may attach ListenerSets: all, the same, selected ones or none."""
    selector: LabelSelector | None = None
    """Used only with `from: Selector`."""


@model
class AllowedListeners:
    """The ListenerSets that may add listeners to the Gateway."""

    namespaces: ListenerNamespaces = ListenerNamespaces()


def _names_are_unique(holder: Any) -> bool:
    return len({it.name for it in holder.listeners}) == len(holder.listeners)


def _listeners_are_unique(holder: Any) -> bool:
    places = Counter((it.port, it.protocol, it.hostname) for it in holder.listeners)
    return max(places.values()) == 1


def _addresses_are_unique(spec: Any) -> bool:
    values = Counter((it.type, it.value) for it in spec.addresses if it.value is not None)
    return max(values.values(), default=1) == 1


NAMES_ARE_UNIQUE = rule("Listener name must be unique within the Gateway", _names_are_unique)
LISTENERS_ARE_UNIQUE = rule(
    "Combination of port, protocol and hostname must be unique for each listener",
    _listeners_are_unique,
)
"""For classes with the field `listeners`."""


@model
class GatewaySpec:
    """The listeners of a Gateway, and its infrastructure."""

    gateway_class_name: ObjectName
    """The GatewayClass, which says what controller serves the Gateway."""
    listeners: tuple[Listener, ...] = Field(min_length=1, max_length=64)
    """Ports on which the Gateway takes requests, each with a protocol and perhaps a host."""
    addresses: tuple[GatewaySpecAddress, ...] = Field(default=(), max_length=16)
    """Addresses that the Gateway is to have; without any, those that are assigned to it."""
    infrastructure: GatewayInfrastructure | None = None
    allowed_listeners: AllowedListeners | None = None
    default_scope: Annotated[str | None, Known("All", "None")] = None
    """Routes that use default Gateways of this scope attach without naming the Gateway."""
    tls: GatewayTLSConfig | None = None
    _names = NAMES_ARE_UNIQUE
    _places = LISTENERS_ARE_UNIQUE
    _addresses = rule("IPAddress and Hostname values must be unique", _addresses_are_unique)


@model
class Gateway:
    """Listeners through which traffic enters."""

    metadata: ObjectMeta
    spec: GatewaySpec
