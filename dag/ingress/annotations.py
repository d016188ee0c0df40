"""Annotations of an Ingress, read one by one.

An invalid value has no effect and is reported as a warning. Source: Contour documentation,
"Annotations Reference". Elsewhere: which class an Ingress names (`dag.classes`).
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeVar

from crds.ingress import Ingress
from crds.policies import RETRY_ON
from dag import nodes
from dag.nodes import TLS_VERSIONS, TlsVersion
from dag.problems import Problem, Refused
from dag.problems import ingress as problems
from dag.problems.places import Findings, Place
from dag.values import durations

T = TypeVar("T")

Plain = Literal["serve", "redirect", "nothing"]
"""What plain HTTP does with the routes of an Ingress."""

FORCE_SSL = "ingress.kubernetes.io/force-ssl-redirect"
ALLOW_HTTP = "kubernetes.io/ingress.allow-http"
PREFIX = "projectcontour.io/"
CERTIFICATE_NAMESPACE = f"{PREFIX}tls-cert-namespace"


def plain(ingress: Ingress) -> Plain:
    """What plain HTTP does; "redirect" wins over "nothing"."""
    annotations = ingress.metadata.annotations
    if annotations.get(FORCE_SSL) == "true":
        return "redirect"
    return "nothing" if annotations.get(ALLOW_HTTP) == "false" else "serve"


def unread_switches(ingress: Ingress) -> Iterator[Problem]:
    """Warnings of switches for plain HTTP that are neither on nor off."""
    for name in (FORCE_SSL, ALLOW_HTTP):
        text = ingress.metadata.annotations.get(name)
        if text not in (None, "true", "false"):
            at = problems.annotation(ingress.metadata.key, name)
            yield problems.ignored(at, f"{text[:60]!r} is not 'true' or 'false'")


class Forwarding(NamedTuple):
    """How the requests of an Ingress are forwarded."""

    timeout: float | None = None
    retry: nodes.Retry | None = None
    websocket_paths: frozenset[str] = frozenset()


def forwarding(ingress: Ingress) -> Findings[Forwarding]:
    """What the annotations say of timeouts, retries and WebSocket."""
    timeout = yield from _first(ingress, ("response-timeout", "request-timeout"), _timeout)
    retry = yield from _retry(ingress)
    websockets = yield from _websocket_paths(ingress)
    return Forwarding(timeout, retry, websockets)


def tls_version(ingress: Ingress, limit: Literal["minimum", "maximum"]) -> Findings[TlsVersion]:
    """The oldest or the newest version that clients may speak."""
    found = yield from _read(ingress, f"tls-{limit}-protocol-version", _tls_version)
    return found or ("1.2" if limit == "minimum" else "1.3")


def _retry(ingress: Ingress) -> Findings[nodes.Retry | None]:
    """The retries; None unless `retry-on` says after which failures. Others refine them."""
    after = yield from _read(ingress, "retry-on", _conditions)
    count = yield from _read(ingress, "num-retries", _count)
    per_try = yield from _read(ingress, "per-try-timeout", _timeout)
    return nodes.Retry(after, 1 if count is None else count, per_try) if after else None


def _websocket_paths(ingress: Ingress) -> Findings[frozenset[str]]:
    """The listed paths that the Ingress has."""
    name, spec = f"{PREFIX}websocket-routes", ingress.spec
    listed = ingress.metadata.annotations.get(name, "").split(",")
    rules = (it.http.paths for it in spec.rules if it.http is not None)
    known = {it.path or "/" for paths in rules for it in paths}
    if spec.default_backend is not None:
        known.add("/")
    wanted = frozenset(it.strip() for it in listed) - {""}
    for it in sorted(wanted - known):
        at = problems.annotation(ingress.metadata.key, name)
        yield problems.ignored(at, f"{it[:60]!r} is no path of this Ingress")
    return wanted & known


def _first(
    ingress: Ingress, names: tuple[str, ...], read: Callable[[Place, str], T]
) -> Findings[T | None]:
    """The new name of an annotation wins over the old one."""
    for name in names:
        if f"{PREFIX}{name}" in ingress.metadata.annotations:
            return (yield from _read(ingress, name, read))
    return None


def _read(ingress: Ingress, name: str, read: Callable[[Place, str], T]) -> Findings[T | None]:
    text = ingress.metadata.annotations.get(f"{PREFIX}{name}")
    if text is None:
        return None
    try:
        return read(problems.annotation(ingress.metadata.key, f"{PREFIX}{name}"), text)
    except Refused as refused:
        yield refused.problem
        return None


def _timeout(place: Place, text: str) -> float | None:
    return durations.timeout(place, text, problems.ignored)


def _conditions(place: Place, text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(it.strip() for it in text.split(",") if it.strip()))
    if unknown := [it for it in found if it not in RETRY_ON]:
        why = f"{unknown[0][:60]!r} is not a known condition for retries"
        raise Refused(problems.ignored(place, why))
    return found


_WHOLE_NUMBER = re.compile("-1|[0-9]{1,10}")


def _count(place: Place, text: str) -> int:
    """The number of retries: 0 is the default of upstream Contour, which is 1, and -1 none."""
    if not _WHOLE_NUMBER.fullmatch(text.strip()) or int(text) >= 2**32:
        why = f"{text[:60]!r} is neither -1 nor a whole number below 4294967296"
        raise Refused(problems.ignored(place, why))
    return max(int(text) or 1, 0)


def _tls_version(place: Place, text: str) -> TlsVersion:
    if text not in TLS_VERSIONS:
        raise Refused(problems.ignored(place, f"{text[:60]!r} is not 1.2 or 1.3"))
    return TLS_VERSIONS[TLS_VERSIONS.index(text)]
