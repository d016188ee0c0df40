"""What happens to one Envoy. `Envoy.step` takes an event and returns `outcomes`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contour.xds.outcomes import Refused
from contour.xds.state import InFlightResponse
from contour.xds.store import Edit
from contour.xds.subscription import Subscription


class Published(NamedTuple):
    """A publication changed what these subscriptions asked for."""

    edits: Sequence[tuple[Subscription, Edit]]


class Quarantined(NamedTuple):
    """A part that this Envoy refused is served to nobody any more who has not accepted it."""

    by: Subscription
    refused: Refused


class Released(NamedTuple):
    """A refused part is published no more, so nothing has to stand in for it."""

    by: Subscription
    name: str
    part: str


class Subscribed(NamedTuple):
    """A stream asks for resources for the first time."""

    by: Subscription
    names: Sequence[str]
    had: Mapping[str, str]  # the versions of those that it has; empty: one that it cannot tell


class Repeated(NamedTuple):
    """A stream asks for resources again that it has asked for before, and is sent them again."""

    by: Subscription
    names: Sequence[str]


class Unsubscribed(NamedTuple):
    """A stream no longer asks for a resource."""

    by: Subscription
    name: str


class Sent(NamedTuple):
    """A response with these resources is on its way."""

    by: Subscription
    names: Sequence[str]
    nonce: str


class Answered(NamedTuple):
    """A response was accepted, or refused with these words."""

    by: Subscription
    response: InFlightResponse
    refusal: str | None


class TrialDue(NamedTuple):
    """The search for the part to blame may go on."""

    by: Subscription


class Closed(NamedTuple):
    """A stream has ended."""

    by: Subscription


class Woken(NamedTuple):
    """Time has passed."""


FromFleet = Published | Quarantined | Released
Event = (
    FromFleet | Subscribed | Repeated | Unsubscribed | Sent | Answered | TrialDue | Closed | Woken
)
