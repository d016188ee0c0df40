"""Certificates of hosts that clients will refuse."""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes

from crds.meta import NamespacedName
from dag import hosts
from dag.engine.incremental import Engine
from dag.findings import Finding, Steps
from dag.findings.catalogue import Code
from dag.references import secrets
from dag.values import hostnames


def check(engine: Engine) -> Steps:
    """Looks at the certificates of every host that is served over TLS, each parsed once."""
    parsed: dict[NamespacedName, x509.Certificate | None] = {}
    for key, found in engine.answers(hosts.secure_host):
        yield None
        if found is None or found.tls is None:
            continue
        leaves = [_leaf(engine, it, parsed) for it in (found.tls.secret, *found.tls.more_secrets)]
        known = [it for it in leaves if it is not None]
        read = [_names(it) for it in known]
        names = sorted({name for it in read if it is not None for name in it})
        is_told = bool(known) and None not in read and key.host != hostnames.EVERY
        if is_told and not _is_covered(key.host, names):
            why = f"the certificate in Secret {found.tls.secret} is for {_told(names)}"
            for subject in found.origins:
                text = f"{why}, not for {key.host}: clients will refuse it"
                yield Finding(Code.CertificateForOtherHost, subject, "", text)
        if any(_is_weak(it) for it in known):
            text = f"the certificate in Secret {found.tls.secret} is signed with SHA-1 or MD5"
            for subject in found.origins:
                yield Finding(Code.WeakSignature, subject, "", f"{text}: clients will refuse it")


def _leaf(
    engine: Engine, name: NamespacedName, parsed: dict[NamespacedName, x509.Certificate | None]
) -> x509.Certificate | None:
    if name not in parsed:
        found = engine.ask(secrets.secret, name)
        parsed[name] = x509.load_pem_x509_certificates(found.chain)[0] if found else None
    return parsed[name]


def _names(certificate: x509.Certificate) -> list[str] | None:
    """The DNS names; a certificate without any is for nobody (RFC 9525, 6.3). None: it has a name
    of a form that is not read, perhaps beside them."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return []
    except x509.UnsupportedGeneralNameType:
        return None
    return [it.lower() for it in found.value.get_values_for_type(x509.DNSName)]


def _is_covered(host: str, names: list[str]) -> bool:
    """A wildcard in a certificate stands for one label (RFC 9525, 6.3)."""
    return host in names or (
        not hostnames.is_wildcard(host) and "*." + host.partition(".")[2] in names
    )


def _is_weak(certificate: x509.Certificate) -> bool:
    """Whether a signature is weak; the one of a self-signed certificate is never checked. One of an
    algorithm that is not known is not known to be."""
    try:
        found = certificate.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return False
    is_own = certificate.issuer == certificate.subject
    return not is_own and isinstance(found, hashes.SHA1 | hashes.MD5)


_MOST = 3


def _told(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more if names else "no DNS name"
