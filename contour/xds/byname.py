"""Clients that are sent resources only by name, such as gRPC clients without a proxy.

Each client has an identity (`Viewer`). A resource has an audience (`Part.audience`); for other
viewers it does not exist. Its content may depend on the zone of the client (`Part.by_zone`). No
client may ask for everything, or for more names than `MOST_NAMES`. A malformed name does not exist,
and the reason is shown; it does not end the stream, because other channels of the same process
share it.

A refusal by such a client affects only its own stream: the client keeps its former value and says
what is wrong, and nothing is held back from others.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from contour.xds import xdstp
from contour.xds.resources import Resource
from contour.xds.store import Edit

MOST_NAMES = 1000
"""Of one type on one stream."""
LONGEST_WORDS = 1024
"""Characters of a refusal that are kept: an Event has room for no more."""
_SHOWN = 80  # characters of a malformed name
_AROUND = "'\"`()[]{}<>,;:."  # a name in a sentence


class Viewer(NamedTuple):
    """The identity of a client."""

    namespace: str
    zone: str = ""
    """Its zone; empty: it does not say."""


def visible(published: Mapping[str, Resource], viewer: Viewer | None) -> Mapping[str, Resource]:
    """The resources of one type as a viewer sees them; None sees everything."""
    return published if viewer is None else _Visible(published, viewer)


class _Visible(Mapping[str, Resource]):
    """Resources without those that are not for the viewer."""

    def __init__(self, published: Mapping[str, Resource], viewer: Viewer) -> None:
        self._published = published
        self._viewer = viewer

    def __getitem__(self, name: str) -> Resource:
        found = self._published[name]
        if not _is_for(found.audience, self._viewer):
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (
            it for it, found in self._published.items() if _is_for(found.audience, self._viewer)
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)


def seen(edit: Edit, viewer: Viewer) -> Edit | None:
    """An edit as a viewer sees it: a change of the audience may add or remove a resource; None if
    the viewer sees the resource neither before nor after it."""
    now = not edit.is_gone and _is_for(edit.resource.audience, viewer)
    head = edit.before.get("")
    before = edit.resource.audience if head is None else head.audience
    had = not edit.is_new and _is_for(before, viewer)
    if now and had:
        return edit
    if now:
        return Edit(edit.resource, is_new=True)
    return Edit(edit.resource, is_gone=True) if had else None


def called(names: Iterable[str]) -> tuple[set[str], dict[str, str]]:
    """The canonical names, and the beginnings of malformed ones with the reasons."""
    found: set[str] = set()
    malformed: dict[str, str] = {}
    for name in names:
        try:
            found.add(xdstp.canonical(name))
        except xdstp.Malformed as error:
            malformed[name[:_SHOWN]] = str(error)
    return found, malformed


def concerned(changed: Iterable[str], asked: Iterable[str], words: str) -> list[str]:
    """The resources that a refusal is about, among those that a client has requested: gRPC names
    them (`resource index 0: NAME: …`). They need not have changed, because a response that lists
    everything is refused again for a former fault. If the refusal names none, all that changed."""
    named = set(_named(words))
    return sorted(it for it in asked if it in named) or list(changed)


def _named(words: str) -> Iterator[str]:
    """Texts that may be names; a punctuation mark after one may belong to it."""
    for word in words.split():
        yield from (word, word.rstrip(":"), word.strip(_AROUND))


def _is_for(audience: frozenset[str] | None, viewer: Viewer) -> bool:
    return audience is None or viewer.namespace in audience
