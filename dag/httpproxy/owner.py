"""The owner of a host: of all roots that claim its name, the oldest.

The status of a loser names the winner; the winner is not affected, so nobody can take a host down
by claiming it (upstream Contour turns both off). A bucket of claims holds exactly what is compared,
so an edit of anything else in a root wakes no rule.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.httpproxy import HTTPProxy
from crds.meta import NamespacedName
from dag import classes, seniority, tables
from dag.configuration import settings
from dag.engine.view import Index, View, query
from dag.values import hostnames


class Candidate(NamedTuple):
    """A root that claims a host; less is first."""

    seniority: seniority.Senior
    class_name: str


@query
def owner(view: View, fqdn: str) -> NamespacedName | None:
    """The root that serves a host; None if none of them may."""
    candidates = [it for it in view.bucket(CLAIMS, fqdn) if _may_claim(view, it)]
    return min(candidates).seniority.key if candidates else None


def fqdns(proxy: HTTPProxy) -> tuple[str, ...]:
    """The hosts that an HTTPProxy claims, its aliases last, without invalid names."""
    host = proxy.spec.virtualhost
    if host is None:
        return ()
    names = dict.fromkeys(it.strip().lower() for it in (host.fqdn, *host.aliases))
    return tuple(it for it in names if refusal(it) is None)


def refusal(fqdn: str) -> str | None:
    """Why this is not a valid host, as the end of a sentence; None if it is."""
    return None if fqdn == hostnames.EVERY else hostnames.refusal(fqdn)


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
    for name in fqdns(proxy):
        yield name, Candidate(seniority.senior(proxy.metadata), _class_name(proxy))


def _class_name(proxy: HTTPProxy) -> str:
    return classes.class_name(proxy.metadata, proxy.spec.ingress_class_name)


CLAIMS: Index[str, Candidate] = Index("claims of hosts", tables.HTTPPROXIES, _claims)

INDEXES = (CLAIMS,)
