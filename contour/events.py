"""What a provider yields: which objects exist now, which are gone, and what is wrong with them.

Providers (`contour.files`, `contour.kubernetes`) yield batches; `contour.controller` takes them.
Neither knows the other.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from contour.complaints import Complaint, ManifestSource, Subject
from crds import kinds, meta


class Event(NamedTuple):
    """An object exists in this version; None: it is gone."""

    kind: kinds.Kind
    key: meta.NamespacedName
    object: Any | None


class Batch(NamedTuple):
    """What changed at one moment: apply all of it before you use any of it."""

    events: tuple[Event, ...]
    complaints: Mapping[Subject, tuple[Complaint, ...]]  # all of a subject; empty if none are left
    fresh: tuple[Complaint, ...] = ()  # those of them that have not been said before
    healed: tuple[ManifestSource, ...] = ()  # folders that can be listed again
    absent: Mapping[str, bool] = MappingProxyType({})  # kinds that are not served now, or are again

    @property
    def is_empty(self) -> bool:
        """Whether nothing that a consumer knows has changed."""
        return not self.events and not self.complaints and not self.absent
