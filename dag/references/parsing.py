"""Reading of PEM: its text, certificates and revocation lists.

`cryptography` is imported with the first of them: most manifests that a command reads have none.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateRevocationList


def text(pem: bytes) -> str:
    """The text of a PEM file, which may have anything beside its blocks; these are ASCII."""
    return pem.decode("ascii", "ignore")


def certificates(pem: bytes) -> "list[Certificate]":
    """One or more certificates, which hold from and until dates that Python has; raises
    ValueError."""
    from cryptography import x509

    found = x509.load_pem_x509_certificates(pem)
    for it in found:
        _ = it.not_valid_before_utc, it.not_valid_after_utc  # read late: it may be the year 0
    return found


def revocation_list(pem: bytes) -> "CertificateRevocationList":
    """One list; raises ValueError."""
    from cryptography import x509

    return x509.load_pem_x509_crl(pem)
