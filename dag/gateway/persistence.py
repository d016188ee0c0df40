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
from dag.values import durations


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
    """Refuses an invalid path of a cookie, which clients get as it is written."""
    if wanted is not None and (why := refusal(wanted)):
        yield problems.rule_dropped(at.at("sessionPersistence").at("cookie").at("path"), why)


def refusal(wanted: SessionPersistence) -> str | None:
    """Why the field `cookie.path` makes no sense; None if it does."""
    cookie = wanted.cookie
    if cookie is None or _PATH.fullmatch(cookie.path):
        return None
    return f"{cookie.path!r} is no path of a cookie: / first, then visible characters without ;"


_PATH = re.compile("/[!-:<-~]*")


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
