"""Keeps a Secret for each TLS host whose Secret no file defines.

It is between the provider and the instance, and adds to each batch the events of the resulting
Secrets. A Secret in a file takes precedence from its batch on; when it is gone, ours is used again.
The cost of a change depends only on the Secrets that it concerns.
"""

import base64
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

from contour.events import Batch, Event
from contour.host import errors
from contour.localtls.authorities import Authorities
from contour.localtls.wanted import wanted
from crds import decode
from crds.kinds import KINDS
from crds.meta import NamespacedName, ObjectRef
from provisioning import certificates, pem

LIFETIME = timedelta(days=60)
RENEWED_AFTER = timedelta(days=30)
_SECRET = KINDS["", "Secret"]

Tell = Callable[[str], None]
"""Reports for which hosts certificates were made, and for which not."""


def utc() -> datetime:
    """The present time."""
    return datetime.now(UTC)


class Keeper:
    """The Secrets of one run."""

    def __init__(
        self, authorities: Authorities, tell: Tell, now: Callable[[], datetime] = utc
    ) -> None:
        self._authorities = authorities
        self._tell = tell
        self._now = now
        self._wanted: defaultdict[NamespacedName, dict[ObjectRef, frozenset[str]]] = defaultdict(
            dict
        )
        self._of: dict[ObjectRef, tuple[NamespacedName, ...]] = {}
        self._defined: set[NamespacedName] = set()
        self._made: dict[NamespacedName, tuple[frozenset[str], datetime]] = {}

    def completed(self, batch: Batch) -> Batch:
        """The batch with the resulting Secrets."""
        concerned: set[NamespacedName] = set()
        for event in batch.events:
            concerned |= self._note(event)
        events = tuple(self._kept(sorted(concerned)))
        return batch._replace(events=(*batch.events, *events)) if events else batch

    def renewed(self) -> Batch:
        """The Secrets whose certificates are to be replaced by now, or could not be made."""
        return Batch(tuple(self._kept(sorted(self._wanted))), {})

    def _is_current(self, key: NamespacedName, hosts: frozenset[str]) -> bool:
        made = self._made.get(key)
        return made is not None and made[0] == hosts and not self._is_old(made[1])

    def _is_old(self, made: datetime) -> bool:
        """Whether a certificate has to be replaced, also if the clock was set back to before it is
        valid."""
        return not timedelta() <= self._now() - made < RENEWED_AFTER

    def _note(self, event: Event) -> set[NamespacedName]:
        """Notes what an object wants. Returns the Secrets that this concerns."""
        if event.kind is _SECRET:
            (self._defined.discard if event.object is None else self._defined.add)(event.key)
            return {event.key}
        subject = ObjectRef(event.kind.kind, *event.key)
        before, found = self._of.pop(subject, ()), set[NamespacedName]()
        for key in before:
            self._wanted[key].pop(subject, None)
        for key, hosts in wanted(event.object):
            found.add(key)
            self._wanted[key][subject] = self._wanted[key].get(subject, frozenset()) | hosts
        if found:
            self._of[subject] = tuple(found)
        return {*before, *found}

    def _kept(self, concerned: Iterable[NamespacedName]) -> Iterator[Event]:
        for key in concerned:
            hosts = frozenset[str]().union(*self._wanted.get(key, {}).values())
            if not self._wanted.get(key):
                self._wanted.pop(key, None)
            if key in self._defined:
                self._made.pop(key, None)
            elif hosts and not self._is_current(key, hosts):
                yield from self._new(key, hosts)
            elif not hosts and key in self._made:
                del self._made[key]
                yield Event(_SECRET, key, None)

    def _new(self, key: NamespacedName, hosts: frozenset[str]) -> Iterator[Event]:
        """A new certificate; if none can be made, the former one stays, which is reported."""
        try:
            yield Event(_SECRET, key, self._secret(key, hosts))
        except errors.RefusedError as error:
            self._tell(f"Secret {key}: no certificate was made: {error}")

    def _secret(self, key: NamespacedName, hosts: frozenset[str]) -> object:
        now = self._now()
        subject = certificates.Subject(tuple(sorted(hosts)), ("server",))
        leaf = certificates.leaf(self._authorities.of(hosts, now), subject, LIFETIME, now)
        self._made[key] = hosts, now
        self._tell(
            f"Secret {key}: made a certificate for {', '.join(sorted(hosts))}; "
            f"clients have to trust {self._authorities.bundle}"
        )
        found = decode.decode(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": key.name, "namespace": key.namespace},
                "type": "kubernetes.io/tls",
                "data": {
                    "tls.crt": _encoded(pem.certificate(leaf.certificate)),
                    "tls.key": _encoded(pem.key(leaf.key)),
                },
            }
        )
        assert isinstance(found, decode.Decoded), "a Secret of ours is one"
        return found.object


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
