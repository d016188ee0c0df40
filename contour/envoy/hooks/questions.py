"""Questions to extensions, and the table of their replies.

The key of a row is a digest of the question, so it is the same on every replica and after every
restart, and an edit only asks about what it has changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Literal, NamedTuple

from contour.envoy.fleets import FleetKey
from contour.envoy.hooks.lists import EMPTY, Lists
from contour.envoy.policy import Downstream
from crds.meta import ObjectRef
from dag import nodes
from dag.engine.view import OpenQuery, Table, View, query


@dataclass(frozen=True)
class Question:
    """What an extension is asked."""

    server: str
    """The name of the extension."""
    hook: nodes.Hook
    body: bytes
    """The resource in canonical form: a Route, a VirtualHost or the template of a Listener. A
    digest for Translation, whose lists are long."""
    hostnames: tuple[str, ...] = ()
    """The domains of the host of a Route."""
    objects: tuple[bytes, ...] = ()
    """The objects that the rule of a Route refers to, each as JSON."""
    lists: Lists = EMPTY
    """What a Translation is about; `body` is its digest."""

    @cached_property
    def key(self) -> bytes:
        """A digest of everything above."""
        found = blake2b(digest_size=16)
        names = (self.server, self.hook, *self.hostnames, "")
        for it in (*(name.encode() for name in names), self.body, *self.objects):
            found.update(len(it).to_bytes(8, "big"))
            found.update(it)
        return found.digest()


@dataclass(frozen=True, slots=True)
class Reply:
    """The resource that an extension wants instead of the one it was asked about."""

    body: bytes | None = field(repr=False)
    """In canonical form; None: it stays as it is. For Translation, the difference
    (`contour.envoy.hooks.lists`)."""


class Silence(NamedTuple):
    """There is no reply."""

    why: str
    """The rest of a sentence whose subject is the extension."""


REPLIES: Table[bytes, Reply | Silence] = Table("replies of extensions")
"""By the key of the question; no row if it has just been asked."""


class Good(NamedTuple):
    """The last state of a host about which all extensions have answered."""

    node: nodes.VirtualHost
    """The host it was made of, with the routes that were held back then: its clusters are kept."""
    body: bytes | None
    """The final answer, without our own configuration; None: the node as it is."""
    added: tuple[str, ...] = ()
    """The clusters of extensions that it names."""
    filters: tuple[str, ...] = ()
    """The filters of extensions that it configures."""
    routed: bytes | None = None
    """The host before the hook VirtualHost; None: the node without our own configuration."""
    closed: frozenset[str] = frozenset()
    """The names of the routes without an answer, or whose answer is refused: they are closed here,
    and have no last good state of their own."""


GOOD: Table[nodes.HostKey, Good] = Table("last good hosts")
"""Written by the controller when the answer `shaped` is finished."""


class TemplateKey(NamedTuple):
    """An HTTP listener about whose template extensions are asked."""

    fleet: str
    listener: str
    is_quic: bool = False
    """Whether it is the listener for HTTP/3 beside it."""


class GoodListener(NamedTuple):
    """The last state of a listener about which all extensions have answered."""

    node: nodes.Listener
    policy: Downstream
    """What its template was made of, with the answer: the clusters of both are kept."""
    added: tuple[str, ...] = ()
    """The clusters of extensions that the answer names."""


GOOD_LISTENERS: Table[TemplateKey, GoodListener] = Table("last good listeners")
"""Written by the controller when the answer `shaped_listener` is finished."""


@dataclass(frozen=True)
class StreamKey:
    """A stream: that of a host behind TLS, or of a whole listener."""

    fleet: str
    listener: str
    host: str = ""
    """Empty for a listener."""


class GoodStream(NamedTuple):
    """The destination of a stream when extensions had last answered about all its clusters."""

    stream: nodes.Stream
    is_terminated: bool = False
    """Whether Envoy terminates TLS."""


GOOD_STREAMS: Table[StreamKey, GoodStream] = Table("last good streams")
"""Written by the controller when the answer `shaped_stream` is finished."""


class Told(NamedTuple):
    """A message to the author of an object about its host or listener."""

    server: str
    text: str


class Shaped(NamedTuple):
    """A host as extensions want it."""

    served: Good | None
    """None: it is closed."""
    asked: tuple[Question, ...] = ()
    """The questions that it depends on."""
    answered: tuple[Question, ...] = ()
    """Those of them that have a reply."""
    told: tuple[Told, ...] = ()
    is_finished: bool = True
    """Whether every extension has answered, and `served` is made of the answers."""
    is_good: bool = True
    """Whether `served` becomes the last good state: every extension has answered about it, except
    for routes that are held back or closed."""
    until_then: Literal["last", "held", "partly", "unmodified"] = "unmodified"
    """What is served until it is finished. `last`: the last good state; `held`: the host, in which
    routes without an answer are held back; `partly`: the same, but some of them are closed, having
    no last good state; `unmodified`: the host without changes."""
    origins: tuple[ObjectRef, ...] = ()
    """The objects that get the messages: those of the host, or of the routes that wait."""
    refused: tuple[Question, ...] = ()
    """The questions whose replies led to a refusal."""


shaped: OpenQuery[nodes.HostKey, Shaped | None] = OpenQuery("shaped")
"""How a host is to be served; None where there is none. Answered by `contour.envoy.shaping`."""


class ShapedListener(NamedTuple):
    """A listener as extensions want it. The fields mean the same as those of `Shaped`."""

    served: GoodListener | None
    """None: it is not opened."""
    asked: tuple[Question, ...] = ()
    answered: tuple[Question, ...] = ()
    told: tuple[Told, ...] = ()
    is_finished: bool = True
    until_then: Literal["last", "unmodified"] = "unmodified"
    origins: tuple[ObjectRef, ...] = ()
    refused: tuple[Question, ...] = ()


shaped_listener: OpenQuery[TemplateKey, ShapedListener | None] = OpenQuery("shaped_listener")
"""How a listener is to be served; None where there is none for HTTP. Answered by
`contour.envoy.listenershaping`."""


class ShapedStream(NamedTuple):
    """A stream whose clusters extensions are asked about."""

    served: GoodStream
    told: tuple[Told, ...] = ()
    is_finished: bool = True
    """Whether extensions have answered about all its clusters."""
    is_last: bool = False
    """Whether `served` is the last good state."""
    origins: tuple[ObjectRef, ...] = ()


shaped_stream: OpenQuery[StreamKey, ShapedStream | None] = OpenQuery("shaped_stream")
"""How a stream is to be served; None where there is none. Answered by
`contour.envoy.streamshaping`."""


class Opened(NamedTuple):
    """What is served for a listener, without the questions."""

    good: GoodListener | None
    """None: it is not opened."""


@query
def opened(view: View, key: TemplateKey) -> Opened | None:
    """What is served for an HTTP listener that extensions modify."""
    found = view.ask(shaped_listener, key)
    return Opened(found.served) if found is not None else None


class Served(NamedTuple):
    """What is served for a host, without the questions."""

    good: Good | None
    """None: it is closed."""


@query
def served(view: View, key: nodes.HostKey) -> Served | None:
    """What is served for a host: it stays equal while the host waits, so that the host is not
    encoded again."""
    found = view.ask(shaped, key)
    return Served(found.served) if found is not None else None


def silences(found: Iterable[Told]) -> str:
    """The messages as one text."""
    return "; ".join(f"extension {it.server} {it.text}" for it in dict.fromkeys(found))


# All clusters and Secrets of a fleet at once.

PROGRESS: Table[str, tuple[Told, ...]] = Table("progress of translations")
"""Why there is no newer answer about all clusters of a fleet; empty if nothing is wrong."""


class Translated(NamedTuple):
    """The clusters and Secrets of a fleet as extensions want them."""

    wanted: Lists
    """What the objects want, with the private parts of Secrets: the same value for as long as that
    does not change."""
    clusters: Mapping[str, bytes]
    """The changed and the new clusters, by name."""
    secrets: Mapping[str, bytes | None]
    """The same for Secrets; None: the Secret is not served."""
    asked: tuple[Question, ...]
    told: tuple[Told, ...] = ()
    silent: tuple[Told, ...] = ()
    is_finished: bool = True
    passes: bool = True
    """Whether new clusters and Secrets may be served without the missing changes."""
    origins: tuple[ObjectRef, ...] = ()
    refused: tuple[Question, ...] = ()
    """The questions whose replies are partly refused."""

    def __repr__(self) -> str:
        return f"<of {self.wanted}: {len(self.clusters)} and {len(self.secrets)} changed>"


translated: OpenQuery[FleetKey, Translated | None] = OpenQuery("translated")
"""All clusters and Secrets of a fleet; None where no extension is asked. Answered by
`contour.envoy.translating`."""
