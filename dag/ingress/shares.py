"""What each Ingress wants for each of its hosts: its shares.

An Ingress is read once, into one share per host; a host is put together from the shares of all
that name it (`claims`), so that an edit of one host leaves the others alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from crds import ingress as crd
from crds.meta import NamespacedName
from dag import listeners, nodes, seniority, tables
from dag.engine.view import Index, View, query
from dag.foreign import ignored
from dag.ingress import annotations, backends, classes, rules, tls
from dag.problems import Problem, unplaced
from dag.problems import ingress as problems


@dataclass(frozen=True, slots=True)
class Share:
    """What an Ingress wants for one host."""

    seniority: seniority.Senior
    routes: tuple[rules.Written, ...]
    plain: annotations.Plain
    termination: tls.Termination | None = None


@dataclass(frozen=True, slots=True)
class Shares:
    """What an Ingress wants, by host, and what is wrong with it."""

    by_host: tuple[tuple[str, Share], ...]
    problems: tuple[Problem, ...]


@query
def shares(view: View, key: NamespacedName) -> Shares | None:
    """The shares of an Ingress; None if it is not for this controller."""
    ingress = view.read(tables.INGRESSES, key)
    if ingress is None or not classes.is_ours(view, ingress):
        return None
    found = (
        *rules.routes(view, ingress),
        *tls.terminations(view, ingress),
        *_missing_listeners(view, ingress),
    )
    if ignored.closing(view, problems.KIND, ingress.metadata):
        found = tuple(_closed(it) if isinstance(it, rules.Written) else it for it in found)
    return Shares(
        tuple(_by_host(ingress, found)), tuple(it for it in found if isinstance(it, Problem))
    )


def _closed(written: rules.Written) -> rules.Written:
    return written._replace(route=replace(written.route, action=backends.NOWHERE))


def _by_host(
    ingress: crd.Ingress, found: Iterable[rules.Written | tls.Termination | Problem]
) -> Iterator[tuple[str, Share]]:
    senior, plain = seniority.senior(ingress.metadata), annotations.plain(ingress)
    routes: dict[str, list[rules.Written]] = {}
    terminations: dict[str, tls.Termination] = {}
    for it in found:
        if isinstance(it, rules.Written):
            routes.setdefault(it.host, []).append(it)
        elif isinstance(it, tls.Termination):
            terminations.setdefault(it.host, it)
    for host, written in routes.items():
        yield host, Share(senior, tuple(written), plain, terminations.get(host))


def _missing_listeners(view: View, ingress: crd.Ingress) -> Iterator[Problem]:
    place = problems.spec(ingress.metadata.key)
    wanted: dict[nodes.Protocol, bool] = {
        "HTTP": annotations.plain(ingress) != "nothing",
        "HTTPS": bool(ingress.spec.tls),
    }
    for protocol in (it for it, is_wanted in wanted.items() if is_wanted):
        lack = view.ask(listeners.lack, protocol)
        if lack is not None:
            if lack.is_open:
                yield unplaced.several_listeners(place, protocol, lack.gateway, "its hosts have")
            else:
                yield unplaced.no_listener(place, protocol, lack.gateway)


def _hosts(_: NamespacedName, found: Shares) -> Iterator[tuple[str, Share]]:
    yield from found.by_host


HOSTS: Index[str, Share] = Index("shares of a host", shares, _hosts)

INDEXES = (HOSTS,)
