"""Certificates that routes bring: the annotation `projectcontour.io/certificate` of an HTTPRoute.

An extension of the Gateway API. It names a Secret in the route's namespace, whose certificate
replaces the listener's for the route's hosts, if the listener allows it by its TLS option
`projectcontour.io/route-certificate: Allow`. The server name is known before any request, so one
certificate serves all routes of a host: that of the oldest route that brings one.
"""

from collections.abc import Iterator

from crds.meta import NamespacedName, ObjectRef
from dag import nodes, tables
from dag.engine.view import View, query
from dag.gateway import attachment, servedlisteners
from dag.gateway.attachment import AttachmentPoint, Parent, RankedRoute
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems import listeners as listener_problems
from dag.references import secrets as checked

ANNOTATION = "projectcontour.io/certificate"


@query
def secrets(view: View, key: nodes.HostKey) -> tuple[NamespacedName, ...]:
    """The certificate that a route brings for a host, if a route may and does."""
    found = view.ask(servedlisteners.owner, key)
    if found is None or not found.allows_certificates:
        return ()
    ranked_route = _bringer(view, AttachmentPoint(key, found.section))
    secret = view.ask(brought, ranked_route.senior.key) if ranked_route is not None else None
    return (secret,) if secret is not None else ()


@query
def brought(view: View, key: NamespacedName) -> NamespacedName | None:
    """The Secret that an HTTPRoute brings, if it can be used."""
    secret = view.ask(named, key)
    is_good = secret is not None and view.ask(checked.refusal, secret) is None
    return secret if is_good else None


@query
def named(view: View, key: NamespacedName) -> NamespacedName | None:
    """The Secret that an HTTPRoute names."""
    found = view.read(tables.HTTPROUTES, key)
    name = found.metadata.annotations.get(ANNOTATION) if found is not None else None
    return NamespacedName(key.namespace, name) if name else None


def problems_of(view: View, ref: ObjectRef, parent: Parent) -> Iterator[Problem]:
    """Problems, at one parent, with the certificate that a route brings or should bring."""
    at = problems.annotation(ref, ANNOTATION)
    secret = view.ask(named, ref.key) if ref.kind == "HTTPRoute" else None
    if secret is not None and parent.points and not parent.overridable:
        yield problems.certificate_not_wanted(at)
    elif secret is not None and (why := view.ask(checked.refusal, secret)):
        yield listener_problems.certificate_not_valid(at, f"Secret {secret} {why}")
    for host in parent.overridable:
        served = view.ask(servedlisteners.owner, host)
        used = view.ask(secrets, host)
        if served is not None and served.allows_certificates and not (served.secrets or used):
            yield problems.certificate_missing(problems.route(ref), host.host)
        elif secret is not None and used and secret not in used:
            yield problems.certificate_of_older_route(at, host.host)


def _bringer(view: View, point: AttachmentPoint) -> RankedRoute | None:
    found = (it.route for it in view.bucket(attachment.ATTACHED, point))
    ranked = (it for it in found if it.kind == "HTTPRoute")
    bringing = (it for it in ranked if view.ask(brought, it.senior.key) is not None)
    return min(bringing, default=None)
