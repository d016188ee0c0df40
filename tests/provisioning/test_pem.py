"""Whatever others write into a Secret costs little to read, and what cannot be read is absent."""

from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from provisioning import certificates, pem, rotation
from provisioning.certificates import Authority, Leaf, Subject
from provisioning.names import LONGEST_LEAF_LIFETIME
from tests.dag.references.test_secrets import numbers

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SUBJECT = Subject(("envoy",), ("client",))
BEGINNING = b"-----BEGIN PRIVATE KEY-----\n"
AUTHORITY = certificates.authority(NOW)
LEAF = certificates.leaf(AUTHORITY, SUBJECT, LONGEST_LEAF_LIFETIME, NOW)


def without_primes(bits: int) -> rsa.RSAPrivateKey:
    """An RSA key; testing its primes would refuse it."""
    found = numbers(bits)
    public = rsa.RSAPublicNumbers(65537, found["p"] * found["q"])
    made = rsa.RSAPrivateNumbers(**found, public_numbers=public)
    return made.private_key(unsafe_skip_rsa_key_validation=True)


def test_a_key_is_searched_and_read_in_the_time_of_its_length() -> None:
    chain, key = pem.certificate(LEAF.certificate), pem.key(LEAF.key)
    assert pem.leaf(chain, BEGINNING * 9 + key) is not None
    assert pem.leaf(chain, pem.key(without_primes(2048))) is not None
    assert pem.leaf(chain, key + b" " * pem.LONGEST) is None
    assert pem.leaf(chain + b" " * pem.LONGEST, key) is None


def test_an_authority_with_a_key_of_another_kind_signs_nothing() -> None:
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "theirs")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + certificates.AUTHORITY_LIFETIME)
        .sign(key, hashes.SHA256())
    )
    found = pem.authorities(pem.certificate(made), keys=pem.key(key))
    assert found == (Authority(made, None),)
    want = rotation.wanted()
    renewed = rotation.renewed(rotation.Holdings(found), want, NOW)
    assert len(renewed.authorities) == 2
    assert renewed.leaves.keys() == want.subjects.keys()


def test_a_leaf_whose_public_key_cannot_be_read_is_replaced() -> None:
    der = LEAF.certificate.public_bytes(serialization.Encoding.DER)
    unknown = der.replace(bytes.fromhex("2a8648ce3d0201"), bytes.fromhex("2a8648ce3d027f"))
    held = Leaf(x509.load_der_x509_certificate(unknown), LEAF.key)
    assert not certificates.fit(held.certificate, held.key)
    assert rotation.joined([AUTHORITY], held, SUBJECT, NOW) not in (None, held)
