"""What the Envoys of one replica say of one fleet: how many they are, what they have yet to accept,
and what they refuse.

Replicas compute the same configuration and versions are sums of contents, so a testimony means
the same to another replica as soon as that is as far. News are testimony, too: what changed,
newest last, one entry for each thing spoken of however often it changes.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from contour.xds.resources import Name
from crds.meta import ObjectRef
from dag.releases import Counted

Place = tuple[Name, str]
"""A part of a resource."""


class Listening(NamedTuple):
    """Where a listener stands on its way to the Envoys of a replica."""

    version: str  # what they are to accept, or have accepted; empty if it cannot be compared
    is_pending: bool


class Refusal(NamedTuple):
    """What an Envoy said of a part, and whose status tells it."""

    origins: tuple[ObjectRef, ...]
    words: str
    digest: str = ""  # of the part; empty if it cannot be compared
    by: Counted = ()  # the Envoys that refuse it while others have it; empty: none has it


@dataclass(slots=True)
class Testimony:
    """What is said right now."""

    envoys: int = 0
    listeners: dict[str, Listening] = field(default_factory=dict)
    refusals: dict[Place, Refusal] = field(default_factory=dict)
    releases: dict[str, int] = field(default_factory=dict)  # of these Envoys; "": unknown

    def take(self, news: "News") -> None:
        """Says from now on what the news say."""
        if news.envoys is not None:
            self.envoys, self.releases = news.envoys, news.releases
        for name, listening in news.listeners.items():
            if listening is None:
                self.listeners.pop(name, None)
            else:
                self.listeners[name] = listening
        for place, refusal in news.refusals.items():
            if refusal is None:
                self.refusals.pop(place, None)
            else:
                self.refusals[place] = refusal


@dataclass(slots=True)
class News:
    """What is said differently now; None: no more."""

    envoys: int | None = None
    listeners: dict[str, Listening | None] = field(default_factory=dict)
    refusals: dict[Place, Refusal | None] = field(default_factory=dict)
    releases: dict[str, int] = field(default_factory=dict)  # of the Envoys, if they are told
    is_whole: bool = False  # all there is to say: what is not mentioned is said no more

    def then(self, later: "News") -> "News":
        """Both, as one; the later word holds."""
        if later.is_whole:
            return later
        if later.envoys is not None:
            self.envoys, self.releases = later.envoys, later.releases
        self.listeners |= later.listeners
        self.refusals |= later.refusals
        if self.is_whole:
            self._drop_nothings()
        return self

    def against(self, before: Testimony) -> "News":
        """The same news, with everything that they end by not mentioning it."""
        if not self.is_whole:
            return self
        return News(
            self.envoys or 0,
            listeners=dict.fromkeys(before.listeners) | self.listeners,
            refusals=dict.fromkeys(before.refusals) | self.refusals,
            releases=self.releases,
        )

    def _drop_nothings(self) -> None:
        self.listeners = {it: value for it, value in self.listeners.items() if value}
        self.refusals = {it: value for it, value in self.refusals.items() if value}


def whole(of: Testimony) -> News:
    """Everything a testimony says, as news to someone who knows nothing of it."""
    return News(
        of.envoys,
        releases=dict(of.releases),
        listeners=dict(of.listeners),
        refusals=dict(of.refusals),
        is_whole=True,
    )
