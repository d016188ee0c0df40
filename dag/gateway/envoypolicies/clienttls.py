"""What a ClientTrafficPolicy says of TLS, and of the certificates that clients must show.

A value that cannot be served closes the listeners of the policy if they would let in clients that
it means to keep out; otherwise it has no effect, and is reported.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from crds.envoygateway import clienttls as crd
from crds.gateway.known import unknown_values
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes
from dag.configuration import settings
from dag.configuration.edges import CURVES
from dag.engine.view import View
from dag.gateway import tlsvalues
from dag.gateway.envoypolicies import clientmatches
from dag.problems import Refused, shared
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.references import grants, trust

KIND = "ClientTrafficPolicy"
SIGNATURES = (
    "rsa_pkcs1_sha256",
    "rsa_pkcs1_sha384",
    "rsa_pkcs1_sha512",
    "ecdsa_secp256r1_sha256",
    "ecdsa_secp384r1_sha384",
    "ecdsa_secp521r1_sha512",
    "rsa_pss_rsae_sha256",
    "rsa_pss_rsae_sha384",
    "rsa_pss_rsae_sha512",
    "ed25519",
    "rsa_pkcs1_sha1",
    "ecdsa_sha1",
)
"""Signature algorithms, as BoringSSL calls them."""
_PROTOCOLS = {"h2": "HTTP/2", "http/1.1": "HTTP/1.1"}


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The settings of TLS; the configuration decides those that are empty or None."""

    minimum: nodes.TlsVersion | None = None
    maximum: nodes.TlsVersion | None = None
    ciphers: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    http_versions: tuple[str, ...] = ()
    clients: nodes.ClientValidation | None = None
    resumption: nodes.Resumption | None = None


def terms(view: View, written: crd.ClientTLS, at: Place) -> Findings[ClientTls]:
    """How TLS is terminated. Raises Refused if it cannot be, as safely as asked for."""
    minimum, maximum = yield from _versions(view, written, at)
    session = written.session.resumption if written.session is not None else None
    clients = None
    if written.client_validation is not None:
        place = at.at("clientValidation")
        clients = yield from _clients(view, written.client_validation, place)
    return ClientTls(
        minimum,
        maximum,
        ciphers=(yield from tlsvalues.ciphers(written.ciphers, at.at("ciphers"))),
        curves=(yield from tlsvalues.known(written.ecdh_curves, CURVES, at.at("ecdhCurves"))),
        signatures=(
            yield from tlsvalues.known(
                written.signature_algorithms, SIGNATURES, at.at("signatureAlgorithms")
            )
        ),
        http_versions=(yield from _http_versions(written.alpn_protocols, at.at("alpnProtocols"))),
        clients=clients,
        resumption=nodes.Resumption(session.stateless is not None, session.stateful is not None)
        if session is not None
        else None,
    )


def _versions(
    view: View, written: crd.ClientTLS, at: Place
) -> Findings[tuple[nodes.TlsVersion | None, nodes.TlsVersion | None]]:
    """The range of versions, within that of the configuration, which no host may leave."""
    allowed = view.ask(settings.tls_versions, ())
    minimum = yield from tlsvalues.version(written.min_version, at.at("minVersion"))
    maximum = yield from tlsvalues.version(written.max_version, at.at("maxVersion"))
    below, above = f"below TLS {allowed.minimum}", f"above TLS {allowed.maximum}"
    if minimum is not None and minimum < allowed.minimum:
        yield shared.no_effect(at.at("minVersion"), f"{_BOUND} {below}")
        minimum = None
    if maximum is not None and not allowed.minimum <= maximum <= allowed.maximum:
        edge = below if maximum < allowed.minimum else above
        yield shared.no_effect(at.at("maxVersion"), f"{_BOUND} {edge}")
        maximum = None
    return minimum, maximum


_BOUND = "by the ContourConfiguration no host may go"


def _http_versions(given: tuple[str, ...] | None, at: Place) -> Findings[tuple[str, ...]]:
    """What is offered by ALPN: nothing if the list is empty, unlike one of unknown names."""
    if given == ():
        return nodes.NOTHING_OFFERED
    found = yield from tlsvalues.known(given or (), tuple(_PROTOCOLS), at)
    return tuple(_PROTOCOLS[it] for it in found)


def _clients(
    view: View, written: crd.ClientCertificates, at: Place
) -> Findings[nodes.ClientValidation]:
    for unknown in unknown_values(written):
        field = Place(at.subject, f"{at.path}.{unknown.path}")
        raise Refused(complaints.policy_closes_listeners(field, unknown.message))
    mode = written.mode or ("VerifyIfGiven" if written.optional else "RequireAndVerify")
    is_optional = mode in ("Request", "VerifyIfGiven")
    authorities = tuple(
        _authority(view, it, at.at("caCertificateRefs", index))
        for index, it in enumerate(written.ca_certificate_refs)
    )
    if mode in ("Request", "RequireAny"):
        _refuse_choosing(written, at, mode)
        if authorities:
            why = f"the mode {mode} checks nothing"
            yield shared.no_effect(at.at("caCertificateRefs"), why)
        return nodes.ClientValidation(is_optional=is_optional, accepts_untrusted=True)
    if not authorities:
        text = f"must have a caCertificateRefs for the mode {mode}"
        raise Refused(complaints.policy_closes_listeners(at, text))
    lists = written.crl.refs if written.crl is not None else ()
    place = at.at("crl")
    revoked = {_list(view, it, place.at("refs", index)) for index, it in enumerate(lists)}
    return nodes.ClientValidation(
        nodes.Trust(tuple(sorted(set(authorities))), lists=tuple(sorted(revoked))),
        is_optional=is_optional,
        only_leaf_revocations=bool(
            written.crl is not None and written.crl.only_verify_leaf_certificate
        ),
        takes_expired=bool(written.allow_expired_certificate),
        spki=tuple(_hashes(written.spki_hashes, at.at("spkiHashes"), _is_spki)),
        hashes=tuple(_hashes(written.certificate_hashes, at.at("certificateHashes"), _is_hash)),
        names=tuple(_names(written.subject_alt_names, at.at("subjectAltNames"))),
    )


_CHOOSING = {
    "crl": "crl",
    "spkiHashes": "spki_hashes",
    "certificateHashes": "certificate_hashes",
    "subjectAltNames": "subject_alt_names",
}
"""The fields that say which of the certificates get in that the authorities have issued."""


def _refuse_choosing(written: crd.ClientCertificates, at: Place, mode: str) -> None:
    """Refused for fields that keep nobody out where Envoy takes any certificate."""
    for wire, field in _CHOOSING.items():
        if getattr(written, field):
            text = f"has no meaning with the mode {mode}, which checks nothing"
            raise Refused(complaints.policy_closes_listeners(at.at(wire), text))


def _authority(view: View, reference: crd.ClientAuthority, at: Place) -> ObjectRef:
    if why_not := trust.kind_refusal(view, reference.group, reference.kind):
        raise Refused(complaints.policy_closes_listeners(at, why_not))
    ref = _granted(view, reference, at)
    return _sound(view, ref, nodes.Trust((ref,)), at)


def _list(view: View, reference: crd.RevocationList, at: Place) -> ObjectRef:
    if (reference.group, reference.kind) not in {("", "Secret"), ("", "ConfigMap")}:
        named = f"{reference.group}/{reference.kind}".lstrip("/")
        text = f"kind {named} is not supported; use ConfigMap or Secret"
        raise Refused(complaints.policy_closes_listeners(at, text))
    ref = _granted(view, reference, at)
    return _sound(view, ref, nodes.Trust(lists=(ref,)), at)


def _granted(
    view: View, reference: crd.ClientAuthority | crd.RevocationList, at: Place
) -> ObjectRef:
    """The object that is referred to, if the policy may refer to it."""
    own = at.subject.namespace
    ref = trust.named(reference.kind, NamespacedName(reference.namespace or own, reference.name))
    referrer = grants.Referrer(ENVOY_GATEWAY, KIND, own)
    target = grants.Target("", ref.kind, *ref.key)
    if ref.namespace and not grants.is_granted(view, referrer, target):
        text = f"{ref} is in another namespace, whose ReferenceGrants do not permit it"
        raise Refused(complaints.policy_closes_listeners(at, text))
    return ref


def _sound(view: View, ref: ObjectRef, of: nodes.Trust, at: Place) -> ObjectRef:
    """The same object, if its content can be used."""
    if why := view.ask(trust.refusal, of):
        raise Refused(complaints.policy_closes_listeners(at, why.message))
    return ref


def _is_spki(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == 32
    except binascii.Error:
        return False


_HASH = re.compile(r"[0-9a-fA-F]{64}|[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){31}")
"""What Envoy takes: with another number of colons it refuses the whole filter chain."""


def _is_hash(text: str) -> bool:
    return _HASH.fullmatch(text) is not None


def _hashes(given: Iterable[str], at: Place, is_one: "clientmatches.Check") -> Iterator[str]:
    for index, it in enumerate(given):
        if not is_one(it):
            text = f"{it[:60]!r} is no SHA-256 hash as it is to be written here"
            raise Refused(complaints.policy_closes_listeners(at.item(index), text))
        yield it


_SAN: tuple[tuple[str, str, nodes.SanKind], ...] = (
    ("dns_names", "dnsNames", "DNS"),
    ("email_addresses", "emailAddresses", "EMAIL"),
    ("ip_addresses", "ipAddresses", "IP_ADDRESS"),
    ("uris", "uris", "URI"),
)


def _names(written: crd.ClientNames | None, at: Place) -> Iterator[nodes.ClientName]:
    if written is None:
        return
    for field, wire, kind in _SAN:
        for index, it in enumerate(getattr(written, field)):
            match = clientmatches.match(it.type, it.value, at.at(wire, index))
            yield nodes.ClientName(kind, match)
    for index, other in enumerate(written.other_names):
        place = at.at("otherNames", index)
        match = clientmatches.match(other.type, other.value, place)
        if not clientmatches.is_oid(other.oid):
            text = f"{other.oid[:60]!r} is no object identifier"
            raise Refused(complaints.policy_closes_listeners(place.at("oid"), text))
        yield nodes.ClientName("OTHER_NAME", match, other.oid)
