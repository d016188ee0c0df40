"""The certificate of an HTTPS listener: referred to, permitted, present and usable.

Gateway API, "ListenerTLSConfig". The first reference is served. A Secret in another namespace
needs a ReferenceGrant, and what is told without one does not depend on whether the Secret is
there.
"""

from collections.abc import Iterator

from crds.gateway.gateway import Listener
from crds.gateway.references import GROUP, SecretObjectReference
from crds.meta import NamespacedName
from dag import grants, secrets
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View


def certificate(view: View, listener: Listener, place: Place) -> Iterator[NamespacedName | Problem]:
    """The Secret that serves a listener, or why there is none; what of its TLS is not served."""
    references = listener.tls.certificate_refs if listener.tls else ()
    tls = place.at("tls")
    if not references:
        yield problems.certificate_not_valid(tls.at("certificateRefs"), "HTTPS needs a certificate")
        return
    yield _secret(view, references[0], tls.at("certificateRefs", 0))
    for index in range(1, len(references)):
        yield problems.not_served_yet(tls.at("certificateRefs", index))


def _secret(view: View, reference: SecretObjectReference, at: Place) -> NamespacedName | Problem:
    if (reference.group, reference.kind) != ("", "Secret"):
        kind = f"{reference.group}/{reference.kind}".lstrip("/")
        return problems.certificate_not_valid(at, f"kind {kind} is not served; Secret is")
    own = at.subject.namespace
    name = NamespacedName(reference.namespace or own, reference.name)
    referrer, target = grants.Referrer(GROUP, "Gateway", own), grants.Target("", "Secret", *name)
    if not grants.is_granted(view, referrer, target):
        return problems.certificate_not_permitted(at, name)
    if refusal := view.ask(secrets.refusal, name):
        return problems.certificate_not_valid(at, f"Secret {name} {refusal}")
    return name
