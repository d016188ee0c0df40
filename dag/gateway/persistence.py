"""Requests of one session go to one endpoint ("SessionPersistence", GEP-1619; experimental)."""

from dataclasses import replace

from crds.gateway.experimental import SessionPersistence
from dag import nodes
from dag.problems.places import Place
from dag.values import durations


def added(
    policies: nodes.Policies | None, wanted: SessionPersistence | None, at: Place
) -> nodes.Policies | None:
    """The policies of a rule, with that of its sessions."""
    if wanted is None:
        return policies
    return replace(policies or nodes.Policies(), session=_session(wanted, at))


def _session(wanted: SessionPersistence, at: Place) -> nodes.SessionPersistence:
    is_header = wanted.type == "Header"
    return nodes.SessionPersistence(
        name=wanted.session_name or _name(at, is_header),
        kind="Header" if is_header else "Cookie",
        lifetime=None if is_header else _lifetime(wanted),
    )


def _name(at: Place, is_header: bool) -> str:
    """One that no other rule of the host has by chance."""
    own = f"{at.subject.namespace}-{at.subject.name}-{at.path.partition('[')[2].partition(']')[0]}"
    return f"x-session-{own}" if is_header else f"session-{own}"


def _lifetime(wanted: SessionPersistence) -> float | None:
    """A cookie lives as long as the browser, unless it is to be permanent."""
    is_permanent = (
        wanted.cookie_config is not None and wanted.cookie_config.lifetime_type == "Permanent"
    )
    if not is_permanent or wanted.absolute_timeout is None:
        return None
    try:
        return durations.seconds(wanted.absolute_timeout)
    except ValueError:
        return durations.LONGEST
