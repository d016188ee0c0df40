"""Key sets and discovery documents of issuers: which ones are wanted, and what is known of them.

The rules fetch nothing. A rule that uses a key set asks for its `state`; an answer of `wanted`
makes the process fetch it, and write what it has fetched into a row (`contour.keysets`). Envoy gets
the keys inline, because a change of its filter would drop all keys that it had fetched itself.

A discovery document (`discovery`) is fetched and kept in the same way: where "key set" is said
here, either is meant.
"""

from collections.abc import Hashable
from typing import NamedTuple, Protocol, TypeVar

from dag import nodes, tables
from dag.engine.view import Table, View, query
from dag.references import discovery, jwks, trust

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Source = nodes.RemoteJwks | nodes.Discovery
"""A key set or a discovery document to fetch, with its server."""

LONGEST_FETCH = 10.0
"""The most seconds that a request may take, whatever its author wrote: others may wait for it."""

EMPTY = '{"keys": []}'
"""A key set without keys: no token is valid."""


class KeySet(NamedTuple):
    """What the process knows of a key set."""

    keys: str = ""
    """The last good one, as JSON that was checked (`readable`); empty: none yet."""
    fault: str = ""
    """Why the newest one could not be fetched, as the end of a sentence; empty: it could."""


class Wanted(NamedTuple):
    """How a key set is to be fetched, in addition to what its source says."""

    authorities: bytes | None
    """PEM of the authorities that may certify the server; None: those of the system, or any."""
    loopback: bool
    """Whether the name of the server may lead to the loopback of this machine."""


class State(NamedTuple):
    """What rules read of a key set; it stays equal when the keys are renewed."""

    is_known: bool
    fault: str


KEYS: Table[Source, str] = Table("key sets")
"""The last good key set of each source, as JSON that was checked (`readable`)."""

STATES: Table[Source, State] = Table("states of key sets")
"""What rules read of it; no row before the process has tried. A table apart from the keys, so that
new keys affect only the filter that Envoy gets, however many routes need them."""


def readable(source: Source, content: bytes) -> str:
    """The used parts of the answer of a server, as JSON. Raises UnusableError (`jwks`)."""
    if isinstance(source, nodes.Discovery):
        return discovery.readable(source, content)
    return jwks.readable(content)


def noun(source: Source) -> str:
    """The noun for what is fetched, for people."""
    return "discovery document" if isinstance(source, nodes.Discovery) else "key set"


class Rows(Protocol):
    """Something that rows are written to: the engine."""

    def write(self, table: Table[K, V], key: K, value: V | None) -> None:
        """Puts a row, or removes it with None."""


def write(rows: Rows, source: Source, found: KeySet | None) -> None:
    """Writes what the process knows of a key set; None removes the rows."""
    rows.write(KEYS, source, (found.keys or None) if found is not None else None)
    state = State(bool(found.keys), found.fault) if found is not None else None
    rows.write(STATES, source, state)


@query
def wanted(view: View, source: Source) -> Wanted:
    """How a key set is to be fetched; there is an answer while a rule uses it."""
    bundle = None
    if source.tls is not None and source.tls.trust is not None:
        found = view.ask(trust.bundle, source.tls.trust)
        bundle = found.authorities if found is not None else b""
    return Wanted(bundle, loopback=view.read(tables.LOOPBACK_REFUSED, ()) is None)


@query
def state(view: View, source: Source) -> State:
    """Whether there are keys, and why there are no newer ones."""
    view.demand(wanted, source)
    if view.read(tables.ACCEPTANCE_ASSUMED, ()):
        return State(is_known=True, fault="")
    found = view.read(STATES, source)
    return found or State(is_known=False, fault=f"the {noun(source)} has not been fetched yet")


def keys(view: View, source: Source) -> str:
    """The key set; empty if there is none. If nothing is fetched (offline), it has no keys."""
    if view.read(tables.ACCEPTANCE_ASSUMED, ()):
        return discovery.assumed(source) if isinstance(source, nodes.Discovery) else EMPTY
    return view.read(KEYS, source) or ""
