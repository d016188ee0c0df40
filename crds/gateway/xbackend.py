"""XBackend: where requests go that no Service leads to (GEP-4731, experimental; the form of v1.7).

The checks are those of the CRD (v1.7.0), with its messages.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.fields import DNS_NAME, GatewayDuration, Port
from crds.gateway.backendtlspolicy import BackendTLSPolicyValidation
from crds.gateway.experimental import SessionCookie, SessionHeader
from crds.gateway.known import Known
from crds.gateway.references import SecretObjectReference
from crds.meta import ObjectMeta, model
from crds.rules import rule

_LabelValue = Annotated[
    str,
    StringConstraints(pattern=r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", max_length=63),
]


@model
class ExternalHostname:
    """A host outside of the cluster, which Envoy looks for by DNS."""

    hostname: Annotated[str, StringConstraints(pattern=DNS_NAME, min_length=1, max_length=253)]
    """The name of the host; no IP address, and no name of the cluster."""
    _name = rule(
        "hostname must not be an IP address or end with .cluster.local",
        lambda it: not it.hostname.endswith(".cluster.local"),
    )


@model
class EndpointSelector:
    """The pods of the namespace that have all of the labels."""

    match_labels: dict[str, _LabelValue] = Field(min_length=1, max_length=64)
    """The labels that a pod must have, all of them."""


@model
class BackendPort:
    """The port of the host, or of the pods."""

    number: Port | None = None
    """The number of the port; v1.6 calls it `port`, which is not read."""


def _is_client(it: "BackendTLS") -> bool:
    return it.mode == "ClientAndServer"


@model
class BackendTLS:
    """Whether TLS is spoken, and which certificates are shown."""

    mode: Annotated[str, Known("None", "ServerOnly", "ClientAndServer")]
    """`None` is plain; with `ClientAndServer` Envoy shows a certificate, too."""
    validation: BackendTLSPolicyValidation | None = None
    client_certificate_ref: SecretObjectReference | None = None
    """The Secret with the certificate that Envoy shows."""
    _client = rule(
        "clientCertificateRef must be set if and only if mode is ClientAndServer",
        lambda it: _is_client(it) == (it.client_certificate_ref is not None),
    )
    _validation = rule(
        "validation must be set if and only if mode is either ClientAndServer or ServerOnly",
        lambda it: (it.mode == "None") == (it.validation is None),
    )


@model
class BackendSession:
    """The requests of one session go to the same pod. It is not served, for pods are not."""

    absolute_timeout: GatewayDuration | None = None
    """How long a session lasts, whatever is sent in it."""
    type: Annotated[str, Known("Cookie", "Header")] = "Cookie"
    """Whether a cookie or a header carries the session."""
    cookie: SessionCookie | None = None
    header: SessionHeader | None = None
    _timeout = rule(
        "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent",
        lambda it: (
            it.cookie is None
            or it.cookie.lifetime_type != "Permanent"
            or it.absolute_timeout is not None
        ),
    )
    _no_cookie = rule(
        "cookie must be nil if type is not Cookie",
        lambda it: it.cookie is None or it.type == "Cookie",
    )
    _cookie = rule(
        "cookie must be specified for Cookie type",
        lambda it: it.cookie is not None or it.type != "Cookie",
    )
    _no_header = rule(
        "header must be nil if type is not Header",
        lambda it: it.header is None or it.type == "Header",
    )
    _header = rule(
        "header must be specified for Header type",
        lambda it: it.header is not None or it.type != "Header",
    )


_PROTOCOLS = ("TCP", "HTTP", "HTTP2", "HTTP11", "H2C", "MCP", "GRPC", "WSS")


def _is_over_tls(spec: "XBackendSpec") -> bool:
    return spec.tls is not None and spec.tls.mode != "None"


@model
class XBackendSpec:
    """Where the requests go, and how the backend is spoken to."""

    type: Annotated[str, Known("ExternalHostname", "EndpointSelector")]
    """Which of the next two fields says where the backend is."""
    external_hostname: ExternalHostname | None = None
    endpoint_selector: EndpointSelector | None = None
    port: BackendPort
    protocol: Annotated[str | None, Known(*_PROTOCOLS)] = None
    """What the backend speaks; if absent, what the kind of the route says."""
    tls: BackendTLS | None = None
    """Absent, it is as the mode `None`."""
    session_persistence: BackendSession | None = None
    _host = rule(
        "externalHostname must be set when type is ExternalHostname and must be unset otherwise",
        lambda it: (it.type == "ExternalHostname") == (it.external_hostname is not None),
    )
    _pods = rule(
        "endpointSelector must be set when type is EndpointSelector and must be unset otherwise",
        lambda it: (it.type == "EndpointSelector") == (it.endpoint_selector is not None),
    )
    _h2c = rule(
        "tls must be disabled when protocol is H2C, use protocol HTTP2 for HTTP/2 with tls",
        lambda it: it.protocol != "H2C" or not _is_over_tls(it),
    )
    _http2 = rule(
        "tls must be enabled when protocol is HTTP2, use protocol H2C for HTTP/2 without tls",
        lambda it: it.protocol != "HTTP2" or _is_over_tls(it),
    )
    _wss = rule(
        "tls must be enabled when protocol is WSS",
        lambda it: it.protocol != "WSS" or _is_over_tls(it),
    )
    _sessions = rule(
        "sessionPersistence can only be set when type is EndpointSelector",
        lambda it: it.session_persistence is None or it.type == "EndpointSelector",
    )


@model
class XBackend:
    """A backend of routes that is no Service."""

    metadata: ObjectMeta
    spec: XBackendSpec
