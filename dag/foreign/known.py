"""Which controller an annotation belongs to, by its prefix, and what it does there.

A name that no table has may be of a newer release: it counts as a guard if it reads like one, or
if it is a snippet that refuses requests.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dag.foreign import haproxy, haproxyingress, nginx, traefik
from dag.foreign.effects import SNIPPET, Annotation, Effect, Table, is_on


class Project(NamedTuple):
    """Another controller."""

    name: str
    tables: tuple[Table, ...]
    """Of tables with the same name in them, the first counts."""


class Foreign(NamedTuple):
    """An annotation that another controller would read."""

    name: str
    """Whole, with its prefix."""
    project: str
    effect: Effect
    instead: str
    is_known: bool


_HAPROXY = Project("HAProxy's ingress controller", (haproxy.ANNOTATIONS,))
_NGINX_INC = Project("NGINX Ingress Controller", ())

PROJECTS: Mapping[str, Project] = {
    "nginx.ingress.kubernetes.io": Project("ingress-nginx", (nginx.ANNOTATIONS,)),
    "haproxy.org": _HAPROXY,
    "haproxy.com": _HAPROXY,
    "haproxy-ingress.github.io": Project("HAProxy Ingress", (haproxyingress.ANNOTATIONS,)),
    "traefik.ingress.kubernetes.io": Project("Traefik", (traefik.ANNOTATIONS,)),
    "ingress.kubernetes.io": Project(
        "HAProxy, Traefik 1 or an old ingress-nginx",
        (
            haproxyingress.ANNOTATIONS,
            haproxy.ANNOTATIONS,
            traefik.FIRST,
            nginx.ANNOTATIONS,
        ),
    ),
    "nginx.org": _NGINX_INC,
    "nginx.com": _NGINX_INC,
    "appprotect.f5.com": _NGINX_INC,
    "appprotectdos.f5.com": _NGINX_INC,
}
"""By prefix. Of the last four no list is kept: every name under them counts as not known."""

_LIKE_A_GUARD = re.compile(
    r"auth|oidc|jwt|waf|acl|(allow|white|deny|black)-?list|rate-?limit|(^|\.)limit-r|middleware"
    r"|^policies$|app-protect",
    re.IGNORECASE,
)


def foreign(annotations: Mapping[str, str], ours: frozenset[str]) -> tuple[Foreign, ...]:
    """The annotations that other controllers would read and we do not, sorted."""
    found = (
        _foreign(name, value) for name, value in sorted(annotations.items()) if name not in ours
    )
    return tuple(it for it in found if it is not None)


def _foreign(name: str, value: str) -> Foreign | None:
    prefix, slash, rest = name.partition("/")
    project = PROJECTS.get(prefix) if slash else None
    if project is None:
        return None
    short = re.sub(r"\.[0-9]+\.", ".n.", rest.lower())
    known = next((it[short] for it in project.tables if short in it), None)
    is_known = known is not None
    effect = (known or _guessed(short)).effect_of(value)
    instead = known.instead if known is not None else ""
    return Foreign(name, project.name, effect, instead, is_known) if effect is not None else None


def _guessed(short: str) -> Annotation:
    if _LIKE_A_GUARD.search(short):
        return Annotation("guard", guards=is_on)
    return SNIPPET if "snippet" in short else _BEHAVIOUR


_BEHAVIOUR = Annotation("behaviour")


def nearest(name: str, ours: Iterable[str]) -> str:
    """The name of ours that was probably meant; empty if none is near."""
    return next(iter(difflib.get_close_matches(name[:253], sorted(ours), n=1)), "")
