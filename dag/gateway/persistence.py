"""Session persistence of a rule ("SessionPersistence", GEP-1619; experimental).

Both forms are served: that of v1.7, and that of v1.6 where its CRDs are installed. Elsewhere: which
backends of a rule keep sessions together (`failover`).
"""

import re
from collections.abc import Iterator

from crds.gateway.experimental import SessionPersistence
from crds.records import replace
from dag import nodes
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.values import cookies, durations, headers


def added(
    policies: nodes.Policies | None, wanted: SessionPersistence | None, at: Place
) -> nodes.Policies | None:
    """The policies of a rule, with its session persistence."""
    if wanted is None:
        return policies
    rule = at.path.partition("[")[2].partition("]")[0]
    own = f"{at.subject.namespace}-{at.subject.name}-{rule}"
    return replace(policies or nodes.Policies(), session=session(wanted, own))


def refusals(wanted: SessionPersistence | None, at: Place) -> Iterator[Problem]:
    """Refuses invalid fields, which clients would get as they are written."""
    if wanted is not None:
        for place, why in faults(wanted, at.at("sessionPersistence")):
            yield problems.rule_dropped(place, why)


def faults(wanted: SessionPersistence, at: Place) -> Iterator[tuple[Place, str]]:
    """The fields that cannot stand in a response, each with the reason."""
    place, name = _name(wanted, at)
    is_header = wanted.type == "Header"
    if name and (why := (headers.change_refusal if is_header else cookies.name_refusal)(name)):
        yield place, f"{name[:60]!r} {why}"
    cookie = wanted.cookie
    if cookie is not None and not _PATH.fullmatch(cookie.path):
        why = f"{cookie.path!r} is no path of a cookie: / first, then visible characters without ;"
        yield at.at("cookie").at("path"), why


_PATH = re.compile("/[!-:<-~]*")


def _name(wanted: SessionPersistence, at: Place) -> tuple[Place, str | None]:
    """The name of a session as it is written, and its field."""
    if wanted.header is not None:
        return at.at("header").at("name"), wanted.header.name
    if wanted.cookie is not None:
        return at.at("cookie").at("name"), wanted.cookie.name
    return at.at("sessionName"), wanted.session_name


def session(wanted: SessionPersistence, own: str) -> nodes.SessionPersistence:
    """The persistence of a session. If it has no name, one is made of `own`, to be unique."""
    if wanted.type == "Header":
        given = wanted.header.name if wanted.header is not None else wanted.session_name
        return nodes.SessionPersistence(given or f"x-session-{own}", "Header")
    cookie, lifetime = wanted.cookie, _lifetime(wanted)
    if cookie is None:
        name = wanted.session_name or f"session-{own}"
        return nodes.SessionPersistence(name, lifetime=lifetime)
    name = cookie.name or f"session-{own}"
    return nodes.SessionPersistence(name, lifetime=lifetime, path=cookie.path)


def _lifetime(wanted: SessionPersistence) -> float | None:
    """The lifetime of a permanent cookie in seconds; None: it ends with the browser's session."""
    cookie = wanted.cookie or wanted.cookie_config
    is_permanent = cookie is not None and cookie.lifetime_type == "Permanent"
    if not is_permanent or wanted.absolute_timeout is None:
        return None
    try:
        return durations.seconds(wanted.absolute_timeout)
    except ValueError:
        return durations.LONGEST
