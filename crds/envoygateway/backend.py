"""Backend: names, addresses and Unix sockets as a backend of routes, instead of a Service.

The fields and limits are those of Envoy Gateway 1.9.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.envoygateway import tlsversions
from crds.envoygateway.tlsversions import VERSIONS
from crds.fields import Flag, NonEmpty, Port, Subdomain
from crds.gateway.known import Known
from crds.gateway.references import LocalObjectReference, SecretObjectReference
from crds.meta import ObjectMeta, model
from crds.rules import rule
from crds.unserved import Unserved

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_AbsoluteName = Annotated[
    str,
    StringConstraints(pattern=rf"^{_LABEL}(\.{_LABEL})*\.?$", min_length=1, max_length=253),
]
H2C = "gateway.envoyproxy.io/h2c"
WEBSOCKETS = "gateway.envoyproxy.io/ws"
SECURE_WEBSOCKETS = "gateway.envoyproxy.io/wss"


@model
class NameEndpoint:
    """A name that Envoy resolves by DNS."""

    hostname: _AbsoluteName
    """The name, such as `httpbin.example.com`. It must not be an IP address."""
    port: Port
    """The number of the port."""


@model
class AddressEndpoint:
    """An IP address."""

    address: Annotated[str, Field(min_length=2, max_length=45)]
    """The IPv4 or IPv6 address. In a cluster, addresses of the loopback interface, link-local ones
    and those of the control plane and its Envoys are refused."""
    port: Port
    """The number of the port."""


@model
class SocketEndpoint:
    """A Unix socket on the machine of Envoy."""

    path: Annotated[str, Field(min_length=1, max_length=108)]
    """The absolute path of the socket. It is served on one machine only, not in a cluster."""


_ONE_OF = "(has(self.fqdn) ? 1 : 0) + (has(self.ip) ? 1 : 0) + (has(self.unix) ? 1 : 0) == 1"


@model
class BackendEndpoint:
    """One endpoint: exactly one of `fqdn`, `ip` and `unix` must be set."""

    fqdn: NameEndpoint | None = None
    """A name that Envoy resolves by DNS, and the number of a port."""
    ip: AddressEndpoint | None = None
    """An IP address and the number of a port."""
    unix: SocketEndpoint | None = None
    """A Unix socket on the machine of Envoy."""
    hostname: Subdomain | None = None
    """The name that TLS asks this endpoint for, with `tls.autoSNIFromEndpointHostname`."""
    zone: Annotated[str | None, Unserved(instead="no zone is preferred, all get requests")] = None
    """The zone in which the endpoint is."""
    _one = rule(
        "exactly one of fqdn, ip and unix must be specified",
        lambda it: sum(each is not None for each in (it.fqdn, it.ip, it.unix)) == 1,
        _ONE_OF,
    )


@model
class BackendTLSSettings:
    """How TLS is spoken to the endpoints. What a BackendTLSPolicy for the Backend says of
    authorities and names comes first."""

    ca_certificate_refs: tuple[LocalObjectReference, ...] = Field(
        default=(), max_length=8, validation_alias="caCertificateRefs"
    )
    """The ConfigMaps, Secrets or ClusterTrustBundles with the authorities of the endpoints, in the
    entry `ca.crt`."""
    well_known_ca_certificates: Annotated[
        str | None, Field(min_length=1, max_length=253, validation_alias="wellKnownCACertificates")
    ] = None
    """`System`: the authorities of Envoy's own system are trusted."""
    insecure_skip_verify: Flag = False
    """Whether the certificates of the endpoints are not checked. The default is `false`."""
    sni: Subdomain | None = None
    """The server name that TLS asks for, and that certificates must have. By default it is the host
    of the request."""
    auto_sni_from_endpoint_hostname: Annotated[
        Flag | None, Field(validation_alias="autoSNIFromEndpointHostname")
    ] = None
    """Whether the server name is that of the endpoint: its `hostname`, or its name in DNS."""
    client_certificate_ref: SecretObjectReference | None = None
    """The Secret with the certificate that Envoy shows. Another namespace than that of the Backend
    requires a ReferenceGrant."""
    min_version: Annotated[str | None, Known(*VERSIONS)] = None
    """The least version of TLS: `1.2`, the default, or `1.3`. Lower ones are not served."""
    max_version: Annotated[str | None, Known(*VERSIONS)] = None
    """The highest version of TLS: `1.2` or `1.3`, the default. Lower ones are not served."""
    ciphers: tuple[str, ...] = ()
    """The ciphers of TLS 1.2, by the names of Envoy or IANA. The default is that of the
    ContourConfiguration."""
    ecdh_curves: tuple[str, ...] = Field(default=(), validation_alias="ecdhCurves")
    """The curves of the key exchange, such as `X25519` and `P-256`."""
    signature_algorithms: Annotated[tuple[str, ...], Unserved(guards=True)] = ()
    """The algorithms of signatures."""
    alpn_protocols: Annotated[
        tuple[NonEmpty, ...] | None, Field(validation_alias="alpnProtocols")
    ] = None
    """The protocols that are offered by ALPN: `h2` and `http/1.1`. By default what the backend
    speaks: HTTP/1.1, or HTTP/2 where `appProtocols` or a GRPCRoute asks for it; for streams none.
    An empty list has no effect on requests, for which Envoy always offers what it speaks."""
    fingerprints: Annotated[
        tuple[str, ...], Unserved(instead="fingerprints are taken of clients")
    ] = ()
    """Fingerprints of clients: `JA3` and `JA4`."""
    _trusted = rule(
        "must not contain both CACertificateRefs and WellKnownCACertificates",
        lambda it: not (it.ca_certificate_refs and it.well_known_ca_certificates),
        "!(has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0 &&"
        " has(self.wellKnownCACertificates) && self.wellKnownCACertificates != '')",
    )
    _skipped = rule(
        "must not contain either CACertificateRefs or WellKnownCACertificates when"
        " InsecureSkipVerify is enabled",
        lambda it: (
            not it.insecure_skip_verify
            or not (it.ca_certificate_refs or it.well_known_ca_certificates)
        ),
        "!((has(self.insecureSkipVerify) && self.insecureSkipVerify) &&"
        " ((has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0) ||"
        " (has(self.wellKnownCACertificates) && self.wellKnownCACertificates != '')))",
    )
    _sni = rule(
        "sni and autoSNIFromEndpointHostname are mutually exclusive",
        lambda it: not (it.sni and it.auto_sni_from_endpoint_hostname),
        "!(has(self.sni) && has(self.autoSNIFromEndpointHostname) &&"
        " self.autoSNIFromEndpointHostname)",
    )
    _ciphers = tlsversions.ciphers_matter()
    _order = tlsversions.are_ordered()


def _is_auto(spec: "BackendSpec") -> bool:
    return spec.tls is not None and bool(spec.tls.auto_sni_from_endpoint_hostname)


@model
class BackendSpec:
    """Where the requests go, and how the endpoints are spoken to."""

    type: Annotated[
        str, Known("Endpoints", "DynamicResolver"), Unserved(values=("DynamicResolver",))
    ] = "Endpoints"
    """`Endpoints`, the default. `DynamicResolver` is not served, and its routes are closed: the
    client would choose by the host of its request where Envoy leads it."""
    endpoints: tuple[BackendEndpoint, ...] = Field(default=(), max_length=256)
    """The endpoints, which share the requests. Names cannot be mixed with addresses and sockets."""
    app_protocols: Annotated[tuple[str, ...], Known(H2C, WEBSOCKETS, SECURE_WEBSOCKETS)] = ()
    """What the endpoints speak: `gateway.envoyproxy.io/h2c` is HTTP/2, `gateway.envoyproxy.io/ws`
    and `gateway.envoyproxy.io/wss` are WebSockets."""
    fallback: Flag | None = None
    """Whether the endpoints get requests only while too few of the other backends of a rule are
    healthy."""
    tls: BackendTLSSettings | None = None
    """How TLS is spoken to the endpoints; without it they are spoken to in plain text."""
    _names = rule(
        "fqdn addresses cannot be mixed with other address types",
        lambda it: len({each.fqdn is None for each in it.endpoints}) < 2,
        "!has(self.endpoints) || self.endpoints.all(f, has(f.fqdn)) ||"
        " !self.endpoints.exists(f, has(f.fqdn))",
    )
    _dynamic = rule(
        "DynamicResolver type cannot have endpoints specified",
        lambda it: it.type != "DynamicResolver" or not it.endpoints,
        "!has(self.type) || self.type != 'DynamicResolver' || !has(self.endpoints)",
    )
    _auto_dynamic = rule(
        "DynamicResolver type cannot use autoSNIFromEndpointHostname",
        lambda it: it.type != "DynamicResolver" or not _is_auto(it),
        "!has(self.type) || self.type != 'DynamicResolver' || !has(self.tls) ||"
        " !(has(self.tls.autoSNIFromEndpointHostname) && self.tls.autoSNIFromEndpointHostname)",
    )
    _auto = rule(
        "when autoSNIFromEndpointHostname is enabled, IP and Unix endpoints must define a hostname",
        lambda it: (
            not _is_auto(it) or all(each.fqdn is not None or each.hostname for each in it.endpoints)
        ),
        "!has(self.tls) || !(has(self.tls.autoSNIFromEndpointHostname) &&"
        " self.tls.autoSNIFromEndpointHostname) || !has(self.endpoints) ||"
        " self.endpoints.all(e, has(e.fqdn) || has(e.hostname))",
    )


@model
class Backend:
    """A backend of routes that is no Service. It is served where the ContourConfiguration has
    `enableBackend: true`, and on one machine unless it has `enableBackend: false`."""

    metadata: ObjectMeta
    spec: BackendSpec
    """Where the requests go, and how the endpoints are spoken to."""
