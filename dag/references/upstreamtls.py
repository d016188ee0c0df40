"""How the certificate of an upstream is checked: by which authorities, for which names.

For Services of HTTPProxies, ExtensionServices and servers of signing keys. What cannot be checked
must not be asked: whoever gets a `Fault` closes what it stands on. Source: HTTPProxy reference,
"UpstreamValidation".
"""

from crds.meta import ObjectRef
from crds.upstreamvalidation import UpstreamValidation
from dag import nodes
from dag.engine.view import View
from dag.faults import Fault, reference
from dag.references import delegation, trust
from dag.values import hostnames

NOT_VALID = "TLSUpstreamValidation"
NOT_DELEGATED = "CACertificateNotDelegated"


def checked(
    view: View, namespace: str, validation: UpstreamValidation, sni: str = ""
) -> nodes.UpstreamTls:
    """TLS towards an upstream that has to show a certificate; Fault says why there can be none."""
    names = validation.subject_names or (validation.subject_name,)
    return nodes.UpstreamTls(
        trust=_trust(view, namespace, validation.ca_secret),
        names=tuple(_name(it) for it in names),
        sni=sni or _server_name(names[0]),
    )


def _trust(view: View, namespace: str, written: str) -> nodes.Trust:
    try:
        secret = reference(written, namespace)
    except ValueError as why:
        raise Fault(NOT_VALID, "caSecret", str(why)) from None
    if not delegation.is_permitted(view, delegation.Use(secret, namespace)):
        text = f"Secret {secret} is not delegated to namespace {namespace}"
        raise Fault(NOT_DELEGATED, "caSecret", text)
    found = nodes.Trust((ObjectRef("Secret", *secret),))
    if refusal := view.ask(trust.refusal, found):
        raise Fault(NOT_VALID, "caSecret", refusal)
    return found


def _name(text: str) -> nodes.AlternativeName:
    if "://" in text:
        return nodes.AlternativeName("URI", text)
    name = text.lower()
    if refusal := hostnames.refusal(name):
        raise Fault(NOT_VALID, "subjectName", f"{text[:60]!r} {refusal}")
    return nodes.AlternativeName("DNS", name)


def _server_name(name: str) -> str:
    """What the upstream is asked for by: a wildcard or a URI is no name of a server."""
    return "" if "://" in name or name.startswith("*") else name.lower()
