"""Who owns a host: of all roots that claim its name, the oldest.

Losers are told who won; the winner stays as it was, so that nobody can take a host down by
claiming it (upstream Contour turns both off). A bucket of claims holds what is compared, so an
edit of anything else in a root wakes nobody.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.httpproxy import HTTPProxy
from crds.meta import NamespacedName
from dag import classes, seniority, settings, tables
from dag.view import Index, View, query


class Candidate(NamedTuple):
    """A root that claims a host; less is first."""

    seniority: seniority.Senior
    class_name: str


@query
def owner(view: View, fqdn: str) -> NamespacedName | None:
    """The root that serves a host; None if none of them may."""
    candidates = [it for it in view.bucket(CLAIMS, fqdn) if _may_claim(view, it)]
    return min(candidates).seniority.key if candidates else None


def fqdn(proxy: HTTPProxy) -> str:
    """The host that an HTTPProxy claims, in lower case; empty if it claims none."""
    name = proxy.spec.virtualhost.fqdn.strip().lower() if proxy.spec.virtualhost else ""
    return name if len(name) <= 253 else ""


def is_ours(view: View, proxy: HTTPProxy) -> bool:
    """Whether an HTTPProxy is for this controller."""
    return classes.is_served(view, _class_name(proxy))


def is_allowed_in(view: View, namespace: str) -> bool:
    """Whether roots in a namespace may claim hosts."""
    allowed = view.ask(settings.root_namespaces, ())
    return not allowed or namespace in allowed


def _may_claim(view: View, candidate: Candidate) -> bool:
    namespace = candidate.seniority.key.namespace
    return classes.is_served(view, candidate.class_name) and is_allowed_in(view, namespace)


def _claims(_: NamespacedName, proxy: HTTPProxy) -> Iterator[tuple[str, Candidate]]:
    if name := fqdn(proxy):
        yield name, Candidate(seniority.senior(proxy.metadata), _class_name(proxy))


def _class_name(proxy: HTTPProxy) -> str:
    return classes.class_name(proxy.metadata, proxy.spec.ingress_class_name)


CLAIMS: Index[str, Candidate] = Index("claims of hosts", tables.HTTPPROXIES, _claims)

INDEXES = (CLAIMS,)
