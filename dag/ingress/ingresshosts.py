"""What each Ingress asks for, for each of its hosts.

An Ingress is read once, into one value per host; the claim of a host is merged from the values of
all Ingresses that name it (`claims`), so an edit of one host does not affect the others.
"""

from collections.abc import Iterable, Iterator

from crds import ingress as crd
from crds.meta import NamespacedName
from crds.records import dataclass, replace
from dag import entrypoints, nodes, seniority, tables
from dag.engine.view import Index, View, query
from dag.foreign import ignored
from dag.ingress import annotations, backends, classes, rules, tls
from dag.problems import Problem
from dag.problems import ingress as problems


@dataclass(frozen=True, slots=True)
class IngressHost:
    """What an Ingress asks for, for one host."""

    seniority: seniority.Senior
    routes: tuple[rules.HostRoute, ...]
    plain: annotations.Plain
    termination: tls.Termination | None = None


@dataclass(frozen=True, slots=True)
class IngressHosts:
    """What an Ingress asks for, by host, and what is wrong with it."""

    by_host: tuple[tuple[str, IngressHost], ...]
    problems: tuple[Problem, ...]


@query
def hosts(view: View, key: NamespacedName) -> IngressHosts | None:
    """The shares of an Ingress; None if it is not for this controller."""
    ingress = view.read(tables.INGRESSES, key)
    if ingress is None or not classes.is_ours(view, ingress):
        return None
    found = (
        *rules.routes(view, ingress),
        *tls.terminations(view, ingress),
        *tls.ineffective(ingress),
        *annotations.unread_switches(ingress),
        *_missing_listeners(view, ingress),
    )
    if ignored.closing(view, problems.KIND, ingress.metadata):
        found = tuple(_closed(it) if isinstance(it, rules.HostRoute) else it for it in found)
    return IngressHosts(
        tuple(_by_host(ingress, found)), tuple(it for it in found if isinstance(it, Problem))
    )


def _closed(written: rules.HostRoute) -> rules.HostRoute:
    return written._replace(route=replace(written.route, action=backends.NOWHERE))


def _by_host(
    ingress: crd.Ingress, found: Iterable[rules.HostRoute | tls.Termination | Problem]
) -> Iterator[tuple[str, IngressHost]]:
    senior, plain = seniority.senior(ingress.metadata), annotations.plain(ingress)
    routes: dict[str, list[rules.HostRoute]] = {}
    terminations: dict[str, tls.Termination] = {}
    for it in found:
        if isinstance(it, rules.HostRoute):
            routes.setdefault(it.host, []).append(it)
        elif isinstance(it, tls.Termination):
            known = terminations.setdefault(it.host, it)
            if known.tls is None and it.tls is not None:
                terminations[it.host] = it
    for host in dict.fromkeys((*routes, *rules.hosts(ingress))):
        written = tuple(routes.get(host, ()))
        yield host, IngressHost(senior, written, plain, terminations.get(host))


def _missing_listeners(view: View, ingress: crd.Ingress) -> Iterator[Problem]:
    place = problems.spec(ingress.metadata.key)
    wanted: dict[nodes.Protocol, bool] = {
        "HTTP": annotations.plain(ingress) != "nothing",
        "HTTPS": bool(ingress.spec.tls),
    }
    for protocol, is_wanted in wanted.items():
        if is_wanted:
            yield from entrypoints.problems(view, place, protocol, "its hosts have")


def _hosts(_: NamespacedName, found: IngressHosts) -> Iterator[tuple[str, IngressHost]]:
    yield from found.by_host


HOSTS: Index[str, IngressHost] = Index("Ingresses of a host", hosts, _hosts)

INDEXES = (HOSTS,)
