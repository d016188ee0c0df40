"""What happens to one Envoy. `Envoy.step` takes an event and returns `outcomes`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contour.xds.outcomes import Refused
from contour.xds.state import InFlightResponse
from contour.xds.store import Edit
from contour.xds.subscription import Subscription


class Published(NamedTuple):
    """A publication changed resources of these subscriptions."""

    edits: Sequence[tuple[Subscription, Edit]]


class Quarantined(NamedTuple):
    """A part that this Envoy refused is no longer served to Envoys that have not accepted it."""

    by: Subscription
    refused: Refused


class Released(NamedTuple):
    """A refused part is published no more, or may be accepted now: nothing stands in for it."""

    by: Subscription
    name: str
    part: str


class Subscribed(NamedTuple):
    """A stream asks for resources for the first time."""

    by: Subscription
    names: Sequence[str]
    had: Mapping[str, str]  # the versions of those that it has; empty: an unknown version


class Repeated(NamedTuple):
    """A stream asks again for resources for which it has asked before, and is sent them again."""

    by: Subscription
    names: Sequence[str]


class Unsubscribed(NamedTuple):
    """A stream no longer asks for a resource."""

    by: Subscription
    name: str


class Sent(NamedTuple):
    """A response with these resources is being sent."""

    by: Subscription
    names: Sequence[str]
    nonce: str


class Answered(NamedTuple):
    """A response was accepted, or refused with this message."""

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
