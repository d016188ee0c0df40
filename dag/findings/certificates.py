"""Certificates of hosts that clients will refuse."""

from collections.abc import Iterator

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes

from crds.meta import NamespacedName
from dag import hosts, nodes
from dag.engine.incremental import Engine
from dag.findings import Finding, Steps
from dag.findings.catalogue import Code
from dag.references import secrets
from dag.values import hostnames

_FIELDS = {"HTTPProxy": "spec.virtualhost.tls.secretName", "Ingress": "spec.tls"}
"""Where an object has the Secret of its host; a Gateway has it in one of many listeners."""


def check(engine: Engine) -> Steps:
    """Looks at the certificates of every host that is served over TLS, each parsed once."""
    parsed: Parsed = {}
    for key, found in engine.answers(hosts.secure_host):
        yield None
        if found is None or found.tls is None:
            continue
        leaves = _leaves(engine, found.tls, parsed)
        if key.host != hostnames.EVERY:
            yield from _for_other_host(found, key.host, leaves)
        if any(_is_weak(it) for it in leaves):
            text = f"the certificate in Secret {found.tls.secret} is signed with SHA-1 or MD5"
            for subject in found.origins:
                yield Finding(Code.WeakSignature, subject, "", f"{text}: clients will refuse it")


def of_client(engine: Engine, found: nodes.SecureHost, name: str) -> Iterator[Finding]:
    """What is wrong with the certificates of a host for a client that asks for this name."""
    if found.tls is not None:
        yield from _for_other_host(found, name, _leaves(engine, found.tls, {}))


def _for_other_host(
    found: nodes.SecureHost, host: str, leaves: list[x509.Certificate]
) -> Iterator[Finding]:
    read = [_names(it) for it in leaves]
    names = sorted({name for it in read if it is not None for name in it})
    if found.tls is None or not leaves or None in read or _is_covered(host, names):
        return
    why = f"the certificate in Secret {found.tls.secret} is for {_told(names)}"
    for subject in found.origins:
        text = f"{why}, not for {host}: clients will refuse it"
        yield Finding(Code.CertificateForOtherHost, subject, _FIELDS.get(subject.kind, ""), text)


Parsed = dict[NamespacedName, x509.Certificate | None]
"""Certificates by their Secrets; None where there is none."""


def _leaves(engine: Engine, tls: nodes.Tls, parsed: Parsed) -> list[x509.Certificate]:
    found = (_leaf(engine, it, parsed) for it in (tls.secret, *tls.more_secrets))
    return [it for it in found if it is not None]


def _leaf(engine: Engine, name: NamespacedName, parsed: Parsed) -> x509.Certificate | None:
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
