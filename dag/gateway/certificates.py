"""The certificates of a listener, and why a reference to one cannot be used.

Gateway API, "ListenerTLSConfig". Of several, Envoy shows each client one that it can use. A Secret
in another namespace needs a ReferenceGrant for the kind of the object that refers to it; the
message without one does not say whether the Secret exists. A listener whose routes may bring
certificates can do without one of its own (`routecertificates`).
"""

from collections.abc import Iterator

from crds.gateway.gateway import Listener
from crds.gateway.references import SecretObjectReference
from crds.meta import NamespacedName
from dag.engine.view import View
from dag.problems import Problem
from dag.problems import listeners as problems
from dag.problems.places import Place
from dag.references import grants, secrets

OVERRIDE = "projectcontour.io/route-certificate"
"""The TLS option that lets routes bring certificates, if its value is `Allow`."""


def certificates(
    view: View, listener: Listener, place: Place
) -> Iterator[NamespacedName | Problem]:
    """The Secrets of a listener, or why they cannot be used; and its unknown TLS options."""
    references = listener.tls.certificate_refs if listener.tls else ()
    tls = place.at("tls")
    if not references and not allows_others(listener):
        why = "a listener that ends TLS needs a certificate"
        yield problems.certificate_not_valid(tls.at("certificateRefs"), why)
    for index, reference in enumerate(references):
        yield secret(view, reference, tls.at("certificateRefs", index))
    yield from _options(listener, tls.at("options"))


def allows_others(listener: Listener) -> bool:
    """Whether routes may bring certificates of their own."""
    return listener.tls is not None and listener.tls.options.get(OVERRIDE) == "Allow"


def secret(view: View, reference: SecretObjectReference, at: Place) -> NamespacedName | Problem:
    """The Secret with a certificate that the object at `at` refers to, or why it cannot serve."""
    if (reference.group, reference.kind) != ("", "Secret"):
        kind = f"{reference.group}/{reference.kind}".lstrip("/")
        return problems.certificate_not_valid(at, f"kind {kind} is not supported; use Secret")
    own = at.subject.namespace
    name = NamespacedName(reference.namespace or own, reference.name)
    if not grants.is_granted(view, grants.referrer(at.subject), grants.Target("", "Secret", *name)):
        return problems.certificate_not_permitted(at, name)
    if refusal := view.ask(secrets.refusal, name):
        return problems.certificate_not_valid(at, refusal.message)
    return name


def _options(listener: Listener, at: Place) -> Iterator[Problem]:
    """Problems with TLS options: unknown ones have no effect, and are reported."""
    for name, value in sorted(listener.tls.options.items() if listener.tls else ()):
        if name != OVERRIDE:
            yield problems.option_not_known(at, name)
        elif value not in {"Allow", "Deny"}:
            yield problems.option_not_known(at, f"{name}: {value}")
