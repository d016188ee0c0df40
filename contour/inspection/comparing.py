"""How two sets of manifests differ, in answers to requests and in the configuration of Envoys."""

import shlex
from collections import Counter
from collections.abc import Iterable

from contour.answers.compared import Compared, Place, Sent, ShownDifference, ShownUncompared
from contour.offline.rendering import SECTIONS, Fleets
from contour.status.rows import plain_subject
from contour.xds import resources
from contour.xds.resources import Name, Resource
from dag.comparison import Difference, Uncompared, worlds
from dag.evaluation.places import World
from dag.evaluation.requests import Request
from dag.nodes import HostKey

_CHAIN = "chain/"
"""The prefix of a listener's parts that are filter chains (`contour.envoy.listening`)."""


def compared(old: tuple[World, Fleets], new: tuple[World, Fleets]) -> Compared:
    """All differences; both sides have settled."""
    found = list(worlds.differences(old[0], new[0]))
    kept = old[1].nodes - new[1].nodes
    names = sorted((old[1].by_name.keys() | new[1].by_name.keys()) - kept)
    held = ((it, old[1].by_name.get(it, {}), new[1].by_name.get(it, {})) for it in names)
    sent = {name: _sent(one, other) for name, one, other in held}
    return {
        "differences": [_shown(it) for it in found if isinstance(it, Difference)],
        "uncompared": [_shown_route(it) for it in found if isinstance(it, Uncompared)],
        "fleets": {name: it for name, it in sent.items() if _is_something(it)},
        "kept": sorted(kept),
    }


def _shown(found: Difference) -> ShownDifference:
    return {
        **_shown_place(found.place),
        "what": found.what,
        "aspect": found.aspect,
        "before": found.before,
        "after": found.after,
        "objects": [plain_subject(it) for it in found.objects],
        "harm": found.harm,
        "example": _asked(found.example),
    }


def _shown_route(found: Uncompared) -> ShownUncompared:
    return {
        **_shown_place(found.place),
        "what": found.what,
        "objects": [plain_subject(it) for it in found.objects],
    }


def _shown_place(found: HostKey) -> Place:
    return {"fleet": found.fleet, "listener": found.listener, "host": found.host}


def _asked(request: Request | None) -> str:
    """A request as words of a shell: its method, its URL, and headers as `-H` takes them. They are
    from objects, whose authors must not write commands."""
    if request is None:
        return ""
    headers = (word for it in request.headers for word in ("-H", ": ".join(it)))
    url = f"{request.scheme}://{request.host}{request.path}"
    return shlex.join((request.method, url, *headers))


def _sent(old: dict[Name, Resource], new: dict[Name, Resource]) -> Sent:
    both = old.keys() & new.keys()
    changed = [it for it in both if old[it].body() != new[it].body()]
    listeners = [it for it in old if it.type_url == resources.LISTENER]
    return {
        "added": _counted(new.keys() - both),
        "changed": _counted(changed),
        "removed": _counted(old.keys() - both),
        "drainedChains": sum(_drained(old[it], new.get(it)) for it in listeners),
    }


def _drained(old: Resource, new: Resource | None) -> int:
    parts = new.parts if new is not None else {}
    return sum(
        name.startswith(_CHAIN) and not resources.is_same(part, parts.get(name))
        for name, part in old.parts.items()
    )


_SECTION = {type_url: name for name, type_url in SECTIONS.items()}


def _counted(names: Iterable[Name]) -> dict[str, int]:
    return dict(sorted(Counter(_SECTION[it.type_url] for it in names).items()))


def _is_something(found: Sent) -> bool:
    return bool(found["added"] or found["changed"] or found["removed"])
