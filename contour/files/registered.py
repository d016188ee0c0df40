"""The kinds of extensions that are read: those that any ContourConfiguration in the files
registers.

Which ContourConfiguration is in force is decided elsewhere; objects to which nothing refers have no
effect.
"""

from collections.abc import Iterable

from contour.complaints import ManifestSource
from contour.events import Event
from contour.files import claims, contents
from crds import foreign
from crds.contourconfiguration import ContourConfiguration
from crds.kinds import Kind
from crds.meta import NamespacedName


class Registered:
    """The kinds that are read."""

    def __init__(self) -> None:
        self._by: dict[NamespacedName, frozenset[Kind]] = {}
        self._kinds: frozenset[Kind] = frozenset()
        self._places: frozenset[ManifestSource] = frozenset()
        self._is_changed = False

    def note(self, event: Event) -> None:
        """Takes a changed object."""
        if event.kind.model is not ContourConfiguration:
            return
        before = self._kinds
        self._by[event.key] = _of(event.object)
        self._kinds = frozenset[Kind]().union(*self._by.values())
        places = (contents.place(foreign.name(it), it.api_version) for it in self._kinds)
        self._places = frozenset(places)
        self._is_changed |= self._kinds != before

    def take_changed(self) -> bool:
        """Whether the kinds have changed since the last call."""
        is_changed, self._is_changed = self._is_changed, False
        return is_changed

    def counting(self, found: Iterable[claims.Definition]) -> list[claims.Definition]:
        """Definitions without those of unregistered kinds; for registered kinds, without the
        complaint that the kind is not supported."""
        return [it for it in found if self.counts(it.item)]

    def counts(self, item: contents.Item) -> bool:
        """Whether this item of a document is used."""
        if item.kind is None:
            return item.subject not in self._places
        return not foreign.is_foreign(item.kind) or item.kind in self._kinds


def _of(found: object) -> frozenset[Kind]:
    if not isinstance(found, ContourConfiguration):
        return frozenset()
    written = (it for each in found.spec.extensions for it in each.resources)
    return frozenset(foreign.kind(it.group, it.version, it.kind) for it in written)
