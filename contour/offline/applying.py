"""What a cluster would have after some manifests were applied to it: for `contour diff`. Pure."""

from datetime import datetime

from contour.events import Batch, Event
from crds.records import replace


def applied(before: Batch, manifests: Batch, now: datetime) -> Batch:
    """The objects of a cluster as they would be after `kubectl apply` of some manifests.

    Existing objects keep their identity and age, on which precedence depends; new ones are created
    now.
    """
    known = {(it.kind.kind, it.key): it for it in before.events}
    events = dict(known)
    for it in manifests.events:
        place = it.kind.kind, it.key
        events[place] = _aged(it, known.get(place), now)
    complaints = {**before.complaints, **manifests.complaints}
    fresh = (*before.fresh, *manifests.fresh)
    return Batch(tuple(events.values()), complaints, fresh, absent=before.absent)


def _aged(event: Event, before: Event | None, now: datetime) -> Event:
    if event.object is None:
        return event
    metadata = event.object.metadata
    if before is not None and before.object is not None:
        old = before.object.metadata
        kept = replace(metadata, uid=old.uid, creation_timestamp=old.creation_timestamp)
    else:
        kept = replace(metadata, creation_timestamp=metadata.creation_timestamp or now)
    return event._replace(object=replace(event.object, metadata=kept))
