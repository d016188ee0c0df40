"""Observes what the Envoys of a fleet accept and refuse, for statuses."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from contour.xds.resources import Name, Origin

NO_RELEASES: Mapping[str, int] = MappingProxyType({})


class RefusedPart(NamedTuple):
    """A part that Envoys refuse, and Envoy's message about it."""

    name: Name
    part: str
    origins: tuple[Origin, ...]
    words: str
    by: Mapping[str, int] = NO_RELEASES  # the releases that refuse it, if others accept it


class RefusedWhole(NamedTuple):
    """An edition that an Envoy refuses, and Envoy's message about it."""

    edition: str
    envoy: object  # which one, for as long as it is connected
    type_url: str
    names: tuple[str, ...]  # of the resources that the refused response brought
    words: str


class AckObserver:
    """Calls come in the middle of a publication or an answer: note them, and act later.

    This class ignores them all.
    """

    def refused(self, refused: RefusedPart) -> None:
        """A part is refused; what was accepted last stays in force."""

    def recovered(self, name: Name, part: str) -> None:
        """A newer version of a refused part was accepted."""

    def changed(self, type_url: str, names: Collection[str]) -> None:
        """Resources of a type, or what Envoys have accepted of them, may have changed."""

    def replaced(self, name: Name, parts: Collection[str]) -> None:
        """These parts of a resource were published anew, or withdrawn; `changed` follows."""

    def edition_refused(self, refused: RefusedWhole) -> None:
        """An Envoy refuses an edition; nothing more of it is sent there."""

    def edition_taken(self, edition: str) -> None:
        """An Envoy has accepted the newest edition: all of it that it uses."""

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None:
        """So many Envoys subscribe to listeners, by release; "": it does not say."""
