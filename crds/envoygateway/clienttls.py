"""What a ClientTrafficPolicy says of TLS: versions, ciphers, and certificates of clients.

The fields and limits are those of Envoy Gateway 1.9.
"""

from typing import Annotated

from pydantic import Field

from crds.envoygateway import tlsversions
from crds.envoygateway.clientheaders import MATCHES, NameMatch
from crds.envoygateway.opaque import Opaque
from crds.envoygateway.tlsversions import VERSIONS
from crds.fields import Flag, Label
from crds.gateway.known import Known
from crds.gateway.references import Group, KindName, ObjectName
from crds.meta import model
from crds.rules import rule


@model
class ClientAuthority:
    """A ConfigMap, Secret or ClusterTrustBundle that has authorities."""

    group: Group = ""
    """The API group of the object; the core group if empty."""
    kind: KindName = "Secret"
    """The kind of the object: `Secret`, the default, `ConfigMap` or `ClusterTrustBundle`."""
    name: ObjectName
    """The name of the object, whose entry `ca.crt` is used."""
    namespace: Label | None = None
    """The namespace of the object. Another than that of the policy requires a ReferenceGrant."""


@model
class RevocationList:
    """A Secret or ConfigMap that has lists of revoked certificates."""

    group: Group = ""
    """The API group of the object: the core group, which is empty."""
    kind: KindName = "Secret"
    """The kind of the object: `Secret`, the default, or `ConfigMap`."""
    name: ObjectName
    """The name of the object, whose entry `ca.crl` is used."""
    namespace: Label | None = None
    """The namespace of the object. Another than that of the policy requires a ReferenceGrant."""


@model
class RevocationLists:
    """The certificates that were revoked and must not get in any more."""

    refs: tuple[RevocationList, ...] = Field(min_length=1, max_length=8)
    """The objects with the lists, one of each authority in the chain of a certificate."""
    only_verify_leaf_certificate: Flag | None = None
    """Whether only the certificate of the client itself is looked up, not its whole chain. The
    default is `false`."""


@model
class OtherName:
    """A name of a kind that is given by its object identifier (OID)."""

    oid: str
    """The object identifier of the kind of name, such as `1.3.6.1.4.1.311.20.2.3`."""
    type: Annotated[str, Known(*MATCHES)] = "Exact"
    """How it is compared: `Exact`, `Prefix`, `Suffix` or `RegularExpression`. The default is
    `Exact`."""
    value: Annotated[str, Field(min_length=1, max_length=1024)]
    """The text that the name is compared with."""


@model
class ClientNames:
    """Names (SAN), one of which the certificate of a client must have."""

    dns_names: tuple[NameMatch, ...] = ()
    """DNS names; a certificate that has any one of them in its names will do."""
    email_addresses: tuple[NameMatch, ...] = ()
    """E-mail addresses; a certificate that has any one of them in its names will do."""
    ip_addresses: tuple[NameMatch, ...] = ()
    """IP addresses; a certificate that has any one of them in its names will do."""
    uris: tuple[NameMatch, ...] = ()
    """URIs; a certificate that has any one of them in its names will do."""
    other_names: tuple[OtherName, ...] = ()
    """Names of other kinds; a certificate that has any one of them in its names will do."""


@model
class ClientCertificates:
    """The certificates that clients must show."""

    mode: Annotated[
        str | None, Known("Request", "RequireAny", "VerifyIfGiven", "RequireAndVerify")
    ] = None
    """Whether clients must show a certificate, and whether it is checked: `Request` (neither),
    `RequireAny` (it must be there), `VerifyIfGiven` (it is checked) or `RequireAndVerify` (both).
    The default is `RequireAndVerify`. Fields that say which certificates get in cannot be set with
    the first two."""
    optional: Flag | None = None
    """Whether clients without a certificate get in, too. Use `mode` instead."""
    allow_expired_certificate: Flag | None = None
    """Whether certificates that have ended are good enough. The default is `false`."""
    ca_certificate_refs: tuple[ClientAuthority, ...] = Field(
        default=(), max_length=8, validation_alias="caCertificateRefs"
    )
    """The authorities that certificates of clients are checked against."""
    spki_hashes: tuple[str, ...] = ()
    """SHA-256 hashes of the public key (SPKI) in Base64, one of which a certificate must have."""
    certificate_hashes: tuple[str, ...] = ()
    """SHA-256 hashes in hexadecimal, one of which a certificate must have."""
    subject_alt_names: ClientNames | None = None
    """Names, one of which a certificate must have."""
    crl: RevocationLists | None = None
    """The certificates that were revoked and must not get in any more."""
    _expired = rule(
        "allowExpiredCertificate can only be set when mode is VerifyIfGiven or RequireAndVerify",
        lambda it: (
            not it.allow_expired_certificate
            or it.mode is None
            or it.mode in ("VerifyIfGiven", "RequireAndVerify")
        ),
        "!has(self.allowExpiredCertificate) || !self.allowExpiredCertificate ||"
        " !has(self.mode) || self.mode in ['VerifyIfGiven', 'RequireAndVerify']",
    )


@model
class Resumption:
    """How sessions are resumed. What is not asked for is off."""

    stateless: Opaque | None = None
    """Sessions are resumed by tickets, which clients keep. It has no fields."""
    stateful: Opaque | None = None
    """Sessions are resumed by their IDs, which Envoy remembers. It has no fields."""


@model
class TLSSession:
    """Sessions of TLS."""

    resumption: Resumption | None = None
    """How sessions are resumed by clients that come again; both ways if absent."""


@model
class ClientTLS:
    """How TLS of clients is terminated."""

    client_validation: ClientCertificates | None = None
    """The certificates that clients must show."""
    session: TLSSession | None = None
    """Sessions of TLS, and how clients that come again resume them."""
    min_version: Annotated[str | None, Known(*VERSIONS)] = None
    """The least version of TLS: `1.2`, the default, or `1.3`. Lower ones are not served."""
    max_version: Annotated[str | None, Known(*VERSIONS)] = None
    """The highest version of TLS: `1.2` or `1.3`, the default. Lower ones are not served."""
    ciphers: tuple[str, ...] = ()
    """The ciphers of TLS 1.2, by the names of Envoy or IANA. The default is that of the
    ContourConfiguration."""
    ecdh_curves: tuple[str, ...] = Field(default=(), validation_alias="ecdhCurves")
    """The curves of the key exchange, such as `X25519` and `P-256`."""
    signature_algorithms: tuple[str, ...] = ()
    """The algorithms of signatures, such as `ecdsa_secp256r1_sha256`."""
    alpn_protocols: tuple[str, ...] | None = Field(default=None, validation_alias="alpnProtocols")
    """The protocols that are offered by ALPN: `h2` and `http/1.1`; none if the list is empty. The
    default is that of the ContourConfiguration."""
    fingerprints: Annotated[tuple[str, ...], Known("JA3", "JA4")] = ()
    """Fingerprints of clients that are made for access logs: `JA3` and `JA4`."""
    _ciphers = tlsversions.ciphers_matter()
    _order = tlsversions.are_ordered()
