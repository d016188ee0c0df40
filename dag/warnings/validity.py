"""The validity of certificates: problems before it begins, near its end, and after that.

Rules know no clock. The process writes a row when a certificate in use becomes valid, is near its
end, or expires (`contour.aging`); the message has the date, so it stays the same in between. Of a
chain the first certificate counts, which is the one of the host: others may be for old clients
only. A bundle of authorities is valid while any of them is.
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
"""A certificate that is not valid yet, expires soon, or has expired."""


class Held(NamedTuple):
    """The certificates in an object."""

    ref: ObjectRef
    """A Secret, ConfigMap or ClusterTrustBundle; for the last, `entry` has no meaning."""
    entry: Literal["tls.crt", "ca.crt"] = "tls.crt"


class Validity(NamedTuple):
    """The time in which certificates are valid."""

    begins: datetime
    ends: datetime

    @property
    def near_end(self) -> datetime:
        """The moment from which on a warning says that they expire."""
        return self.ends - min(LONGEST_NOTICE, (self.ends - self.begins) / 3)

    def phase(self, now: datetime) -> Phase | None:
        """The phase to report; None while they are valid."""
        if now < self.begins:
            return "early"
        if now >= self.ends:
            return "ended"
        return "ending" if now >= self.near_end else None

    def changes(self, now: datetime) -> datetime | None:
        """The next moment at which the phase changes; None: never."""
        return min((it for it in self.moments if it > now), default=None)

    @property
    def moments(self) -> tuple[datetime, ...]:
        """The moments at which the phase changes."""
        return self.begins, self.near_end, self.ends


PHASES: Table[Held, Phase] = Table("phases of certificates")
"""The phase of certificates in use, as the process writes it; no row while they are valid."""


@query
def validity(view: View, held: Held) -> Validity | None:
    """The validity of the certificates in an object; None if they cannot be read."""
    try:
        found = parsing.certificates(trust.written(view, held.ref, held.entry) or b"")
    except ValueError:
        return None
    return _chain(found) if held.entry == "tls.crt" else _bundle(found)


@query
def remark(view: View, held: Held) -> tuple[Phase, datetime] | None:
    """The phase of the certificates in an object to report, and since or until when.

    None while they are valid: so a renewal does not wake the objects that use them.
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
    """A moment as it is shown to users."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
