"""From when to when certificates hold, and what is told while that is near its end, or not so.

A rule knows no clock. The process writes a row when a certificate in use begins to hold, comes near
its end, or ends (`contour.aging`); the text has the date, so it stays the same until then. Of a
chain the first certificate counts, which is the one of the host: others may be there for old
clients only. A bundle of authorities holds while any of them does.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from crds.meta import NamespacedName, ObjectRef
from dag.engine.view import Table, View, query
from dag.references import parsing, trust

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

LONGEST_NOTICE = timedelta(days=14)
"""A certificate of a short life is near its end for the last third of it."""

Phase = Literal["early", "ending", "ended"]
"""It does not hold yet; its end is near; it does not hold any more."""


class Held(NamedTuple):
    """The certificates in an object."""

    ref: ObjectRef
    """A Secret, ConfigMap or ClusterTrustBundle; of the last the entry says nothing."""
    entry: Literal["tls.crt", "ca.crt"] = "tls.crt"


class Validity(NamedTuple):
    """When certificates hold."""

    begins: datetime
    ends: datetime

    @property
    def near_end(self) -> datetime:
        """From when on its end is told."""
        return self.ends - min(LONGEST_NOTICE, (self.ends - self.begins) / 3)

    def phase(self, now: datetime) -> Phase | None:
        """What there is to tell; None while all is well."""
        if now < self.begins:
            return "early"
        if now >= self.ends:
            return "ended"
        return "ending" if now >= self.near_end else None

    def changes(self, now: datetime) -> datetime | None:
        """When there will be something else to tell; None: never."""
        return min((it for it in self.moments if it > now), default=None)

    @property
    def moments(self) -> tuple[datetime, ...]:
        """When there is something else to tell."""
        return self.begins, self.near_end, self.ends


PHASES: Table[Held, Phase] = Table("phases of certificates")
"""What the process says of certificates that are in use; no row while all is well."""


@query
def validity(view: View, held: Held) -> Validity | None:
    """When the certificates in an object hold; None if they cannot be read."""
    try:
        found = parsing.certificates(trust.written(view, held.ref, held.entry) or b"")
    except ValueError:
        return None
    return _chain(found) if held.entry == "tls.crt" else _bundle(found)


@query
def remark(view: View, held: Held) -> tuple[Phase, datetime] | None:
    """What is told of the certificates in an object, and since or until when.

    None while all is well: a renewal wakes nobody who uses them.
    """
    phase = view.read(PHASES, held)
    if phase is None:
        view.demand(validity, held)
        return None
    found = view.ask(validity, held)
    if found is None:
        return None
    return phase, found.begins if phase == "early" else found.ends


def _chain(found: "list[Certificate]") -> Validity:
    return Validity(found[0].not_valid_before_utc, found[0].not_valid_after_utc)


def _bundle(found: "Iterable[Certificate]") -> Validity:
    each = [Validity(it.not_valid_before_utc, it.not_valid_after_utc) for it in found]
    last = max(it.ends for it in each)
    return Validity(min(it.begins for it in each), last)


def of_secret(name: NamespacedName, entry: Literal["tls.crt", "ca.crt"] = "tls.crt") -> Held:
    """The certificates in a Secret."""
    return Held(ObjectRef("Secret", *name), entry)


def shown(moment: datetime) -> str:
    """A moment as users are told it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
