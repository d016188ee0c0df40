"""Verification of upstream certificates: by which authorities, for which names.

For Services of HTTPProxies, ExtensionServices and servers of signing keys. An upstream that cannot
be verified must not get requests. Source: HTTPProxy reference, "UpstreamValidation".
"""

from crds.meta import ObjectRef
from crds.upstreamvalidation import UpstreamValidation
from dag import nodes
from dag.engine.view import View
from dag.problems import Refused
from dag.problems.places import Place
from dag.problems.shared import OfSecrets
from dag.references import delegation, trust
from dag.values import hostnames


def checked(
    view: View, place: Place, validation: UpstreamValidation, say: OfSecrets, sni: str = ""
) -> nodes.UpstreamTls:
    """TLS towards an upstream that has to show a certificate; Refused if it cannot be checked."""
    names = validation.subject_names or (validation.subject_name,)
    return nodes.UpstreamTls(
        trust=_trust(view, place.at("caSecret"), validation.ca_secret, say),
        names=tuple(_name(place.at("subjectName"), it, say) for it in names),
        sni=sni or _server_name(names[0]),
    )


def _trust(view: View, place: Place, written: str, say: OfSecrets) -> nodes.Trust:
    secret = delegation.secret(view, place, written, say)
    found = nodes.Trust((ObjectRef("Secret", *secret),))
    if refusal := view.ask(trust.refusal, found):
        raise Refused(say.not_valid(place, refusal.message))
    return found


def _name(place: Place, text: str, say: OfSecrets) -> nodes.AlternativeName:
    if "://" in text:
        return nodes.AlternativeName("URI", text)
    name = text.lower()
    if refusal := hostnames.refusal(name):
        raise Refused(say.not_valid(place, f"{text[:60]!r} {refusal}"))
    return nodes.AlternativeName("DNS", name)


def _server_name(name: str) -> str:
    """The server name (SNI) for an upstream: a wildcard or a URI is none."""
    return "" if "://" in name or name.startswith("*") else name.lower()
