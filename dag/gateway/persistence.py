"""Requests of one session go to one endpoint ("SessionPersistence", GEP-1619; experimental).

Both spellings are served: that of v1.7, and that of v1.6 where its CRDs are installed.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from crds.gateway.experimental import SessionPersistence
from dag import nodes
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.values import durations


def added(
    policies: nodes.Policies | None, wanted: SessionPersistence | None, at: Place
) -> nodes.Policies | None:
    """The policies of a rule, with that of its sessions."""
    if wanted is None:
        return policies
    return replace(policies or nodes.Policies(), session=_session(wanted, at))


def refusals(wanted: SessionPersistence | None, at: Place) -> Iterator[Problem]:
    """Why a session cannot be kept: a cookie's path is sent to clients as it is written."""
    cookie = wanted.cookie if wanted is not None else None
    if cookie is not None and not _PATH.fullmatch(cookie.path):
        why = f"{cookie.path!r} is no path of a cookie: / first, then visible characters without ;"
        yield problems.rule_dropped(at.at("sessionPersistence").at("cookie").at("path"), why)


_PATH = re.compile("/[!-:<-~]*")


def _session(wanted: SessionPersistence, at: Place) -> nodes.SessionPersistence:
    if wanted.type == "Header":
        given = wanted.header.name if wanted.header is not None else wanted.session_name
        return nodes.SessionPersistence(given or _name(at, is_header=True), "Header")
    cookie, lifetime = wanted.cookie, _lifetime(wanted)
    if cookie is None:
        name = wanted.session_name or _name(at, is_header=False)
        return nodes.SessionPersistence(name, lifetime=lifetime)
    name = cookie.name or _name(at, is_header=False)
    return nodes.SessionPersistence(name, lifetime=lifetime, path=cookie.path)


def _name(at: Place, *, is_header: bool) -> str:
    """One that no other rule of the host has by chance."""
    own = f"{at.subject.namespace}-{at.subject.name}-{at.path.partition('[')[2].partition(']')[0]}"
    return f"x-session-{own}" if is_header else f"session-{own}"


def _lifetime(wanted: SessionPersistence) -> float | None:
    """A cookie lives as long as the browser, unless it is to be permanent."""
    cookie = wanted.cookie or wanted.cookie_config
    is_permanent = cookie is not None and cookie.lifetime_type == "Permanent"
    if not is_permanent or wanted.absolute_timeout is None:
        return None
    try:
        return durations.seconds(wanted.absolute_timeout)
    except ValueError:
        return durations.LONGEST
