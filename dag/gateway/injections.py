"""Credentials that HTTPRouteFilters put into requests for backends.

The credential for Envoy (`known`) and what routes read (`injection`) are separate, so a new
credential changes no route, and no route contains one. A Secret that cannot be used closes the
rules of the filter. Source: Envoy Gateway 1.9.
"""

from crds.envoygateway import httproutefilter as crd
from crds.meta import NamespacedName, ObjectRef
from dag import nodes, tables
from dag.engine.view import View, query
from dag.problems import Problem, Refused
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.references import opaque
from dag.values import headers

KIND = "HTTPRouteFilter"
ENTRY = "credential"
"""The entry of a Secret with the value of the header."""
HEADER = "authorization"
"""The header that gets the credential if none is named."""


@query
def known(view: View, key: NamespacedName) -> nodes.Credential | Problem | None:
    """The credential of a filter, or why it is not available; None if the filter has none."""
    written = view.read(tables.HTTP_ROUTE_FILTERS, key)
    if written is None or written.spec.credential_injection is None:
        return None
    place = Place(ObjectRef(KIND, *key)).at("credentialInjection").at("credential").at("valueRef")
    try:
        return _credential(view, place, written.spec.credential_injection)
    except Refused as refused:
        return refused.problem


@query
def refusal(view: View, key: NamespacedName) -> Problem | None:
    """Why the credential of a filter is not available; it stays equal when that is renewed."""
    found = view.ask(known, key)
    return found if isinstance(found, Problem) else None


def injection(view: View, written: crd.CredentialInjection, at: Place) -> nodes.Injection:
    """The injection for routes, without the credential; Refused if that is not available."""
    source = at.subject
    name = HEADER if written.header is None else written.header
    if why := headers.request_refusal(name):
        raise _refused(at.at("header"), f"{name[:60]!r} {why}")
    problem = view.ask(refusal, source.key)
    if problem is not None:
        raise Refused(problem)
    return nodes.Injection(source, name.lower(), bool(written.overwrite))


def _credential(view: View, at: Place, written: crd.CredentialInjection) -> nodes.Credential:
    reference = written.credential.value_ref
    content = opaque.entries(view, at, reference, _refused).get(ENTRY)
    named = f"Secret {reference.namespace or at.subject.namespace}/{reference.name}"
    if content is None:
        raise _refused(at, f"{named} has no {ENTRY}")
    if text := opaque.as_text(content):
        return nodes.Credential(text.encode())
    raise _refused(at, f"{named} has a {ENTRY} that is empty, or no value of a header")


def _refused(at: Place, why: str) -> Refused:
    return Refused(problems.filter_not_valid(at, why))
