"""TLS Secrets: a certificate chain with its key, or the reason why they cannot be used.

Envoy refuses a mismatched pair and, on first load, resets every connection of its chain; so the
pair is checked here. Upstream Contour never compares the two. Whether the last good pair of a
broken Secret stays in use is decided by the provider, which keeps history.
"""

from typing import TYPE_CHECKING

from crds import secret as secret_
from crds.meta import NamespacedName, ObjectRef
from dag import hints, nodes, tables
from dag.engine.view import View, query
from dag.problems import Problem, referents
from dag.references import parsing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

MAX_PEM = 256 * 1024
"""Bytes of a chain or key; parsing more is an attack (CVE-2024-12401)."""
_MAX_RSA = 16384
"""Bits of an RSA key; Envoy takes no larger ones."""
_CURVES = ("secp256r1", "secp384r1", "secp521r1")
"""The curves of keys that Envoy takes: P-256, P-384 and P-521."""


@query
def certificate(view: View, key: NamespacedName) -> nodes.Secret | Problem:
    """The pair in a Secret of type kubernetes.io/tls or Opaque."""
    found = view.read(tables.SECRETS, key)
    if found is None:
        hint = hints.hint(view, ObjectRef("Secret", *key))
        return referents.secret_not_valid(key, f"not found{hint}")
    return checked(found)


@query
def refusal(view: View, key: NamespacedName) -> Problem | None:
    """Why a Secret cannot be used. For rules that refer to one: a renewal does not wake them."""
    found = view.ask(certificate, key)
    return found if isinstance(found, Problem) else None


@query
def secret(view: View, key: NamespacedName) -> nodes.Secret | None:
    """The pair, if there is one that can be used."""
    found = view.ask(certificate, key)
    return found if isinstance(found, nodes.Secret) else None


def checked(found: secret_.Secret) -> nodes.Secret | Problem:
    """The pair in a Secret, or why it cannot be used."""
    pair = _pair_of(found)
    if not isinstance(pair, str):
        return pair
    is_opaque = found.type == "Opaque"
    hint = "; its type is Opaque, not kubernetes.io/tls" if is_opaque else ""
    return referents.secret_not_valid(found.metadata.key, f"{pair}{hint}")


def _pair_of(found: secret_.Secret) -> nodes.Secret | str:
    """The pair, or why there is none: the end of a sentence that begins with the Secret."""
    if found.type not in {"kubernetes.io/tls", "Opaque"}:
        return f"is of type {found.type}, not kubernetes.io/tls"
    chain, key = found.data.get("tls.crt", b""), found.data.get("tls.key", b"")
    if not chain.strip():
        return "has no certificate (tls.crt)"
    if not key.strip():
        return "has no private key (tls.key)"
    if max(len(chain), len(key)) > MAX_PEM:
        return f"is larger than {MAX_PEM} bytes"
    return _pair(chain, key)


def _pair(chain: bytes, key: bytes) -> nodes.Secret | str:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )

    try:
        certificates = parsing.certificates(chain)
        leaf_key = certificates[0].public_key()
    except Exception:  # of many types, depending on what is broken
        return "has a certificate (tls.crt) that does not parse"
    try:  # the primes of an RSA key are not tested, which takes seconds for a large one
        private = load_pem_private_key(key, password=None, unsafe_skip_rsa_key_validation=True)
    except Exception:  # of many types, depending on what is broken
        return "has a private key (tls.key) that does not parse"
    if not isinstance(private, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        return "has a private key that is neither RSA nor ECDSA"
    if isinstance(private, rsa.RSAPrivateKey) and (fault := _fault_of_rsa(private)):
        return fault
    if isinstance(private, ec.EllipticCurvePrivateKey) and private.curve.name not in _CURVES:
        return f"has an ECDSA key of the curve {private.curve.name}, not P-256, P-384 or P-521"
    spki = PublicFormat.SubjectPublicKeyInfo
    if private.public_key().public_bytes(Encoding.DER, spki) != leaf_key.public_bytes(
        Encoding.DER, spki
    ):
        return "has a certificate and a private key that do not belong together"
    return nodes.Secret(chain, key)


def _fault_of_rsa(private: "RSAPrivateKey") -> str:
    """Why an RSA key cannot be used; empty if it can."""
    if private.key_size < 2048:
        return f"has an RSA key of {private.key_size} bits, fewer than 2048"
    if private.key_size > _MAX_RSA:
        return f"has an RSA key of {private.key_size} bits, more than {_MAX_RSA}"
    found = private.private_numbers()
    p, q, d, public = found.p, found.q, found.d, found.public_numbers
    is_consistent = (
        min(p, q) > 1
        and p * q == public.n
        and all(public.e * d % (prime - 1) == 1 for prime in (p, q))
        and (found.dmp1, found.dmq1) == (d % (p - 1), d % (q - 1))
        and found.iqmp * q % p == 1
    )
    return "" if is_consistent else "has a private key (tls.key) whose numbers do not fit together"
