"""The claim of Ingress for a host, merged from every Ingress that names it.

If two have the same path or a Secret for the host, the oldest Ingress wins, and the statuses of the
others say so; the default backend gives way to any rule. TLS of a host serves the routes of all.
Source: Ingress documentation, "Name based virtual hosting", "TLS".
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from crds.meta import NamespacedName
from crds.records import dataclass, replace
from dag import nodes, redirects
from dag.engine.view import Index, View, query
from dag.ingress import annotations, backends, rules, tls
from dag.ingress.ingresshosts import HOSTS, IngressHost
from dag.problems import Problem
from dag.problems import ingress as problems

__all__ = ["HOSTS", "claim"]


@dataclass(frozen=True, slots=True)
class MergedHost:
    """The merged claim of a host, and problems of the Ingresses that lost a part of it."""

    claim: nodes.Claim
    problems: tuple[Problem, ...]


@query
def claim(view: View, host: str) -> nodes.Claim | None:
    """The routes and the TLS of a host; None where no Ingress names it."""
    if not view.count(HOSTS, host):
        return None
    found = view.ask(merged, host)
    return found.claim if found is not None else None


@query
def merged(view: View, host: str) -> MergedHost | None:
    """The merged claim of a host, with problems of losers; None if no Ingress names it."""
    shares = sorted(view.bucket(HOSTS, host), key=lambda it: it.seniority)
    if not shares:
        return None
    entries = [MergedRoute(it, share.plain) for share in shares for it in share.routes]
    entries.sort(key=lambda it: it.written.is_default)
    winners: dict[nodes.Match, MergedRoute] = {}
    for entry in entries:
        winners.setdefault(entry.written.route.match, entry)
    asked = [it.termination for it in shares if it.termination is not None]
    termination = next((it for it in asked if it.tls is not None), next(iter(asked), None))
    lost = (*_lost_paths(entries, winners), *_lost_tls(shares, termination))
    return MergedHost(_claim(view, winners, termination), lost)


class MergedRoute(NamedTuple):
    """A route for the host, and what plain HTTP does with it."""

    written: rules.HostRoute
    plain: annotations.Plain


def _claim(
    view: View, winners: Mapping[nodes.Match, MergedRoute], termination: tls.Termination | None
) -> nodes.Claim:
    routes = tuple(it.written.route for it in winners.values())
    tls = termination.tls if termination is not None else None
    return nodes.Claim(
        plain=tuple(_on_plain_http(view, winners.values())),
        secure=_behind_tls(routes, termination),
        tls=tls,
        origins=(termination.place.subject,) if termination is not None else (),
        is_bare=not winners,
        asks_for_tls=termination is not None,
    )


def _behind_tls(
    routes: tuple[nodes.Route, ...], termination: tls.Termination | None
) -> tuple[nodes.Route, ...]:
    """The routes over TLS. Where another API terminates TLS that an Ingress asks for in vain, none
    of its routes takes what is meant for the Ingress."""
    if termination is None or termination.tls is not None:
        return routes if termination is not None else ()
    return tuple(replace(it, action=backends.NOWHERE) for it in routes)


def _on_plain_http(view: View, entries: Iterable[MergedRoute]) -> Iterator[nodes.Route]:
    for written, plain in entries:
        if plain == "serve":
            yield written.route
        elif plain == "redirect":
            yield replace(written.route, action=redirects.to_https(view))


def _lost_paths(
    entries: Iterable[MergedRoute], winners: Mapping[nodes.Match, MergedRoute]
) -> Iterator[Problem]:
    for entry in entries:
        written, winner = entry.written, winners[entry.written.route.match].written
        is_overridden_default = written.is_default and written.place.subject == winner.place.subject
        if winner != written and not is_overridden_default:
            yield problems.duplicate_path(written.place, written.host, winner.place.subject)


def _lost_tls(
    shares: Iterable[IngressHost], termination: tls.Termination | None
) -> Iterator[Problem]:
    if termination is None or termination.tls is None:
        return
    owner, served = termination.place.subject, termination.tls
    for it in (share.termination for share in shares):
        if it is None or it.tls is None or it.tls == served:
            continue
        if it.tls.secret != served.secret:
            yield problems.other_secret(it.place, it.host, served.secret, owner)
        else:
            versions = f"{served.minimum} to {served.maximum}"
            yield problems.other_versions(it.place, it.host, versions, owner)


def _told(_: str, found: MergedHost) -> Iterator[tuple[NamespacedName, Problem]]:
    return ((it.subject.key, it) for it in found.problems)


LOSSES: Index[NamespacedName, Problem] = Index("lost parts of hosts", merged, _told)

INDEXES = (LOSSES,)
