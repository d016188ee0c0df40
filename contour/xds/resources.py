"""xDS resources, divided into parts: the contract with translators.

A RouteConfiguration is a head part `""` (its name and settings) and one part per virtual host; an
extension's configuration is a head and parts with its content; most other resources are the single
part `""`. The encoded message is the concatenation of the parts' bodies in the order of their
names. Parts matter because one Envoy may have the newest part of one host and still the previous
part of another, whose new cluster is not ready there. Versions are content hashes: equal on all
replicas and after every restart. Elsewhere: gating (`gates`), refusals (`bisection`).
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from contour.xds import wire
from contour.xds.releases import Release

_PREFIX = "type.googleapis.com/envoy"
CLUSTER = f"{_PREFIX}.config.cluster.v3.Cluster"
ENDPOINTS = f"{_PREFIX}.config.endpoint.v3.ClusterLoadAssignment"
SECRET = f"{_PREFIX}.extensions.transport_sockets.tls.v3.Secret"
EXTENSION = f"{_PREFIX}.config.core.v3.TypedExtensionConfig"
LISTENER = f"{_PREFIX}.config.listener.v3.Listener"
ROUTE = f"{_PREFIX}.config.route.v3.RouteConfiguration"
RUNTIME_LAYER = f"{_PREFIX}.service.runtime.v3.Runtime"
SCOPE = f"{_PREFIX}.config.route.v3.ScopedRouteConfiguration"
RATE_LIMITS = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"
"""The configuration of a rate limit service (envoyproxy/ratelimit), for which Envoys never ask."""

# The resources to which one refers are sent before it.
ORDER = (
    RUNTIME_LAYER, CLUSTER, ENDPOINTS, SECRET, EXTENSION, LISTENER, ROUTE, SCOPE, RATE_LIMITS,
)  # fmt: skip
RANK = {type_url: rank for rank, type_url in enumerate(ORDER)}
OTHER = "other"
"""Stands for all other types: clients may ask for them, but there are no resources."""
# Clients ask for all resources of these types without naming them; in the state-of-the-world
# variant, absence means removal.
WHOLE = frozenset({CLUSTER, LISTENER, SCOPE, RATE_LIMITS})
# Resources of these types wait for what they need; the others are waited for.
GATED = frozenset({LISTENER, ROUTE, SCOPE})

_MODULUS = 1 << 128
_FEW_RENDERINGS = 4
_FEW_PARTS = 2  # a head and one host: sending it as a whole costs little
_LONG_HISTORY = 64


Origin = tuple[str, str, str]
"""An object from which a part was made, as its translator names it; it is only passed on and
sorted."""


class Name(NamedTuple):
    """The identity of an xDS resource."""

    type_url: str
    name: str


PartKey = tuple[Name, str]
"""A part of a resource."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a resource that can be held back, refused and replaced on its own."""

    body: bytes  # encoded protobuf fields of the resource's message
    digest: bytes  # 16-byte blake2b of the body
    # The resources that must be ready on an Envoy before it gets this part: each once, sorted
    # (`needed`). Nearly always there is one or none, for which a set would take four times the
    # memory.
    needs: tuple[Name, ...] = ()
    origins: tuple[Origin, ...] = ()  # whose statuses show a refusal of this part
    # Clusters only: whether Envoy warms it before use. Not so for DNS clusters that are served with
    # `wait_for_warm_on_init: false`.
    warms: bool = True
    # A head that is not a valid message by itself: it needs a part that completes it. (Envoy
    # refuses a TLS listener without a filter chain.)
    is_fragment: bool = False
    completes: bool = False
    # Clusters only: Envoy warms it until the first health checks are done, so the acknowledgement
    # of its endpoints does not tell that it is ready.
    health_checked: bool = False
    # Envoys older than `since` cannot load it; they get `older` instead, or nothing.
    since: Release | None = None
    older: "Part | None" = None
    # What is served instead if Envoys refuse it, whatever was accepted before.
    without: "Part | None" = None
    # The hosts that it is about. Changes of a host in a listener and in a table of routes are sent
    # together.
    hosts: tuple[str, ...] = ()
    # For the head, where resources are sent by name only: who may see the resource; None:
    # everybody.
    audience: frozenset[str] | None = None
    # What clients in these zones get instead of the body.
    by_zone: Mapping[str, "Part"] | None = None

    @property
    def varies(self) -> bool:
        """Whether some clients get another value."""
        return self.since is not None or bool(self.by_zone)


def kind(type_url: str) -> str:
    """The type under which a type URL is served."""
    return type_url if type_url in RANK else OTHER


class Change(NamedTuple):
    """A part that is new or changed, or (without a value) removed."""

    name: Name
    part: str
    value: Part | None


Parts = Mapping[str, "Part | None"]
Shape = Callable[[str, str, str, bytes], bytes]  # (name, type URL, version, body) to an envelope


def part(
    body: bytes,
    needs: Iterable[Name] = (),
    origins: Iterable[Origin] = (),
    audience: frozenset[str] | None = None,
    by_zone: Mapping[str, bytes] | None = None,
    hosts: tuple[str, ...] = (),
) -> Part:
    """A part of these bytes for this audience, with other bytes for clients in some zones. Its
    digest is that of all of it. `hosts`: those that it is about."""
    told = [body, *(it.encode() for it in sorted(audience or ()))]
    others: dict[str, Part] = {}
    for zone, its in sorted((by_zone or {}).items()):
        others[zone] = Part(its, digest(its), audience=audience)
        told += (zone.encode(), its)
    return Part(
        body,
        digest(b"\0".join(told)),
        needed(needs),
        tuple(origins),
        hosts=hosts,
        audience=audience,
        by_zone=others or None,
    )


def needed(names: Iterable[Name]) -> tuple[Name, ...]:
    """The needs of a part."""
    return tuple(sorted(set(names)))


def digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()


def fitting(value: Part | None, release: Release | None, zone: str = "") -> Part | None:
    """A part for an Envoy of this release, or for a client in this zone; an Envoy that does not
    report its release counts as new."""
    if value is not None and value.by_zone is not None:
        return value.by_zone.get(zone, value)
    if value is None or value.since is None or release is None or release >= value.since:
        return value
    return value.older


def is_same(one: Part | None, other: Part | None) -> bool:
    """Whether two parts are the same to Envoy."""
    return (one and one.digest) == (other and other.digest)


Marked = set[str] | frozenset[str]
"""Some parts of a resource. Most resources have none, and share an empty set."""

_NONE: frozenset[str] = frozenset()


def _marked(among: Marked, part: str, *, is_one: bool) -> Marked:
    if not isinstance(among, set):
        return {part} if is_one else among
    if is_one:
        among.add(part)
    else:
        among.discard(part)
    return among


class Resource:
    """The newest parts of one resource, rendered on demand for all streams at once. There are four
    resources for each host, so fields that are nearly always empty are only created when needed."""

    __slots__ = (
        "_history", "_order", "_renderings", "_shares", "_sum", "completing", "name", "parts",
        "varied",
    )  # fmt: skip

    def __init__(self, name: Name) -> None:
        self.name = name
        self.parts: dict[str, Part] = {}
        self.completing: Marked = _NONE  # the parts that complete a head
        self.varied: Marked = _NONE  # the parts of which some Envoys or clients get another value
        self._order: list[str] | None = None
        self._sum = 0
        self._shares: dict[int, str] | None = None
        self._history: tuple[tuple[int, str, Part | None], ...] = ()
        self._renderings: dict[tuple[Shape, int], bytes] | None = None

    @property
    def audience(self) -> frozenset[str] | None:
        """Who may see it (`byname`); None: everybody."""
        head = self.parts.get("")
        return head.audience if head is not None else None

    def put(self, part: str, value: Part | None) -> Part | None:
        """Replaces one part, at a cost that does not depend on the others; returns its former
        value."""
        before = self.parts.get(part)
        # After one gap, older entries are useless.
        known = self._history[1 - _LONG_HISTORY :] if len(self.parts) > _FEW_PARTS else ()
        # A resource with one part is recognised by the share of that part, without history.
        self._history = (*known, (self._sum, part, before)) if self.parts else ()
        self._sum = self._sum_with({part: value})
        self._renderings = None
        self._shares = None
        is_completing = value is not None and value.completes
        self.completing = _marked(self.completing, part, is_one=is_completing)
        self.varied = _marked(self.varied, part, is_one=value is not None and value.varies)
        if value is not None:
            self.parts[part] = value
        elif before is not None:
            del self.parts[part]
        if self._order is not None and (before is None) != (value is None):
            self._reorder(part, self._order)
        return before

    def _reorder(self, part: str, order: list[str]) -> None:
        if part in self.parts:
            insort(order, part)
        else:
            del order[bisect_left(order, part)]

    def version(self, overridden: Parts | None = None) -> str:
        """The content hash, with some parts replaced by what one Envoy has instead."""
        return f"{self._sum_with(overridden) if overridden else self._sum:032x}"

    def since(self, version: str) -> dict[str, Part | None] | None:
        """The differences of a version: the parts as they were then; None if they are not known.

        The last versions are known, and (since a version is a sum) those that lack a single part.
        """
        try:
            total = int(version, 16)
        except ValueError:
            return None
        undone: dict[str, Part | None] = {}
        for before, part, value in reversed(self._history):
            undone[part] = value
            if before == total:
                return undone
        lacking = self._by_share().get((self._sum - total) % _MODULUS)
        return None if lacking is None else {lacking: None}

    def _by_share(self) -> dict[int, str]:
        if self._shares is None:
            self._shares = {_share(name, value): name for name, value in self.parts.items()}
        return self._shares

    def rendered(self, shape: Shape, overridden: Parts | None = None) -> bytes:
        """The encoded resource in its envelope, which is cached if it is worth it."""
        total = self._sum_with(overridden) if overridden else self._sum
        kept = self._renderings if self._renderings is not None else {}
        if (known := kept.get((shape, total))) is not None:
            return known
        type_url, name = self.name
        made = shape(name, type_url, f"{total:032x}", self.body(overridden))
        if len(self.parts) > 1 or len(made) > 4096:
            while len(kept) >= _FEW_RENDERINGS:
                del kept[next(iter(kept))]
            kept[shape, total] = made
            self._renderings = kept
        return made

    def body(self, overridden: Parts | None = None) -> bytes:
        """The encoded message: the bodies of the parts in order of their names."""
        if overridden:
            mixed = {**self.parts, **overridden}
            return self._joined([it.body for _, it in sorted(mixed.items()) if it is not None])
        parts = self.parts
        if len(parts) == 1:
            return self._joined([it.body for it in parts.values()])
        if self._order is None:
            self._order = sorted(parts)
        return self._joined([parts[name].body for name in self._order])

    def _joined(self, bodies: list[bytes]) -> bytes:
        """Joins bodies; in an extension's configuration, all but the head are inside its `Any`."""
        if self.name.type_url != EXTENSION:
            return b"".join(bodies)
        return b"".join((*bodies[:1], wire.field(2, wire.field(2, b"".join(bodies[1:])))))

    def _sum_with(self, overridden: Parts | None) -> int:
        total = self._sum
        for part, value in (overridden or {}).items():
            total += _share(part, value) - _share(part, self.parts.get(part))
        return total % _MODULUS


def _share(part: str, value: Part | None) -> int:
    """The summand of a part in the version. It includes the part's name, so that swapped parts give
    another version."""
    if value is None:
        return 0
    salted = blake2b(part.encode(), digest_size=16, key=value.digest)
    return int.from_bytes(salted.digest(), "big")
