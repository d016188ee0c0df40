"""The outcomes of an event for the fleet: `Envoy.step` returns them, `Fleet` applies them.

Each is about resources of the subscription with which it is returned, since a connecting Envoy asks
for thousands at once. Elsewhere: events (`events`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from contour.xds.state import Baseline


class Pending(NamedTuple):
    """Something of each resource is to be sent to a stream, or is held back from it."""

    names: Collection[str]


class Settled(NamedTuple):
    """Nothing of these resources is pending: they were accepted, or are refused for good."""

    names: Collection[str]


class Dropped(NamedTuple):
    """Nothing of a resource is pending, because the stream no longer asks for it."""

    name: str


class Unchanged(NamedTuple):
    """The Envoy has the newest of a part already, so it is not sent."""

    name: str
    part: str


class Accepted(NamedTuple):
    """The Envoy has accepted the content of a response, or says that it has it."""

    before: Mapping[str, Baseline]


class Refused(NamedTuple):
    """A part was found that the Envoy refuses."""

    name: str
    part: str
    words: str  # Envoy's message
    is_stray: bool  # the resource itself had not changed, so there is nothing to take back


class Declined(NamedTuple):
    """A client that is served by name refuses resources, or no longer does; others are not
    affected."""

    names: Sequence[str]


class RefusedEdition(NamedTuple):
    """The Envoy refuses what a fleet is served as a whole."""

    edition: str
    names: tuple[str, ...]  # of the resources that the refused response brought
    words: str  # Envoy's message


class TakenEdition(NamedTuple):
    """The Envoy has accepted all that it asked for of the newest edition."""

    types: frozenset[str]  # that it asked for


class Gone(NamedTuple):
    """The stream has ended."""


OfPart = Pending | Settled | Dropped | Unchanged | Accepted | Refused | Declined | Gone
OfEdition = RefusedEdition | TakenEdition
Outcome = OfPart | OfEdition
