"""Who is told apart by which names, and what a certificate may be used for."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from provisioning import certificates, identities, rotation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLIENT = certificates.Subject(("envoy", "envoy.edge"), ("client",))
SERVER = certificates.Subject(("contour",), ("server", "client"))
LIFETIME = timedelta(days=90)


def leaf(
    subject: certificates.Subject, lifetime: timedelta = LIFETIME
) -> tuple[certificates.Authority, certificates.Leaf]:
    authority = certificates.authority(NOW)
    return authority, certificates.leaf(authority, subject, lifetime, NOW)


def test_a_leaf_is_verified_by_its_authority_and_no_other() -> None:
    authority, found = leaf(SERVER)
    verified = _policy(authority).build_server_verifier(x509.DNSName("contour"))
    assert verified.verify(found.certificate, []) == [found.certificate, authority.certificate]
    stranger = _policy(certificates.authority(NOW)).build_server_verifier(x509.DNSName("contour"))
    with pytest.raises(VerificationError):
        stranger.verify(found.certificate, [])


def test_a_certificate_with_a_name_that_is_not_read_is_for_nobody() -> None:
    _, found = leaf(certificates.Subject(("b.com",), ("server",)))
    der = found.certificate.public_bytes(Encoding.DER)
    odd = der.replace(b"\x82\x05b.com", b"\xa3\x05b.com")  # a name of the form x400Address
    assert odd != der
    assert certificates.names(x509.load_der_x509_certificate(odd)) == frozenset()


def test_what_is_for_clients_serves_nobody() -> None:
    authority, found = leaf(CLIENT)
    assert _policy(authority).build_client_verifier().verify(found.certificate, [])
    server = _policy(authority).build_server_verifier(x509.DNSName("envoy"))
    with pytest.raises(VerificationError):
        server.verify(found.certificate, [])
    usage = found.certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_a_leaf_cannot_sign() -> None:
    authority, found = leaf(SERVER)
    below = certificates.leaf(
        certificates.Authority(found.certificate, found.key), SERVER, LIFETIME, NOW
    )
    verifier = _policy(authority).build_server_verifier(x509.DNSName("contour"))
    with pytest.raises(VerificationError):
        verifier.verify(below.certificate, [found.certificate])


@pytest.mark.parametrize("days", [1, 90, 365, 4000])
def test_no_leaf_lives_longer_than_ninety_days(days: int) -> None:
    _, found = leaf(SERVER, timedelta(days=days))
    life = found.certificate.not_valid_after_utc - found.certificate.not_valid_before_utc
    assert life == timedelta(days=min(days, 90))
    assert found.certificate.not_valid_before_utc < NOW == certificates.made(found.certificate)


def test_a_leaf_does_not_outlive_its_authority() -> None:
    authority = certificates.authority(NOW)
    late = NOW + certificates.AUTHORITY_LIFETIME - timedelta(days=10)
    found = certificates.leaf(authority, SERVER, LIFETIME, late)
    assert found.certificate.not_valid_after_utc == authority.certificate.not_valid_after_utc


def test_every_key_is_of_its_own_and_on_p_256() -> None:
    authority, found = leaf(SERVER)
    for key in (authority.key, found.key):
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        assert isinstance(key.curve, ec.SECP256R1)
    assert certificates.fit(found.certificate, found.key)
    assert authority.key is not None
    assert not certificates.fit(found.certificate, authority.key)


@pytest.mark.parametrize(
    ("service", "fleet", "namespace"),
    [("contour", "envoy", "projectcontour"), ("contour-b", "envoy-b", "b"), ("x", "contour", "c")],
)
def test_no_fleet_has_a_name_of_the_control_plane(service: str, fleet: str, namespace: str) -> None:
    subjects = rotation.wanted(service, fleet, namespace).subjects
    server, client = subjects["contour"], subjects["envoy"]
    assert identities.CONTROL_PLANE in server.names
    assert f"{service}.{namespace}.svc" in server.names
    assert f"{fleet}.{namespace}" in client.names
    assert not set(server.names) & set(client.names)


def _policy(authority: certificates.Authority) -> PolicyBuilder:
    return PolicyBuilder().store(Store([authority.certificate])).time(NOW)
