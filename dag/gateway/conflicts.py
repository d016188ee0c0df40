"""Which listeners of one Gateway cannot be told apart (Gateway API, "Distinct Listeners").

On one port either every listener speaks plain HTTP or every one TLS, and each has a host of its
own. All listeners of a conflict lose: which one was meant is not for us to guess. What is not
served cannot take anything away: protocols that we do not know conflict with nothing. Hosts that
merely overlap are no conflict, but clients that share a connection for them may be surprised
(GEP-3567).
"""

from collections.abc import Mapping, Sequence

from dag import hostnames
from dag.gateway.doors import Door
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place

_IS_SECURE: Mapping[str, bool] = {"HTTP": False, "HTTPS": True, "TLS": True}


def conflict(doors: Sequence[Door], door: Door, place: Place) -> Problem | None:
    """What makes one of the listeners indistinct, if anything does."""
    rivals = _rivals(doors, door)
    if strangers := [it.section for it in rivals if not _speak_alike(it, door)]:
        return problems.protocol_conflict(place, door.port, strangers)
    if twins := [it.section for it in rivals if it.host == door.host]:
        return problems.hostname_conflict(place, twins)
    return None


def overlap(doors: Sequence[Door], door: Door, place: Place) -> Problem | None:
    """That names of one TLS listener are also names of others on its port, if they are."""
    others = [
        it.section
        for it in _rivals(doors, door)
        if _IS_SECURE[door.protocol] and hostnames.intersection(it.host, door.host) is not None
    ]
    return problems.hostnames_overlap(place, others) if others else None


def _rivals(doors: Sequence[Door], door: Door) -> list[Door]:
    if door.protocol not in _IS_SECURE:
        return []
    return [
        it
        for it in doors
        if it.section != door.section and it.port == door.port and it.protocol in _IS_SECURE
    ]


def _speak_alike(one: Door, other: Door) -> bool:
    return _IS_SECURE[one.protocol] == _IS_SECURE[other.protocol]
