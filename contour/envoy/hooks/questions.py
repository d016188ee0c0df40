"""Questions to extensions, and the table of their replies.

The key of a row is the content of the question, so that it is the same on every replica and after
every restart, and an edit asks for what it has changed and nothing else.
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
    """Of the host of a Route."""
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
    """What an extension wants instead of what it was asked about."""

    body: bytes | None = field(repr=False)
    """In canonical form; None: it stays as it is. For Translation what is different
    (`contour.envoy.hooks.lists`)."""


class Silence(NamedTuple):
    """There is no reply."""

    why: str
    """The end of a sentence that begins with the extension."""


REPLIES: Table[bytes, Reply | Silence] = Table("replies of extensions")
"""By the key of the question; no row where it has been asked just now."""


class Good(NamedTuple):
    """The last state of a host that all extensions have answered for."""

    node: nodes.VirtualHost
    """What it was made of, with the routes that were held back then: its clusters stay asked
    for."""
    body: bytes | None
    """What came back at the end, without what is ours; None: the node as it is."""
    added: tuple[str, ...] = ()
    """The clusters of extensions that it names."""
    filters: tuple[str, ...] = ()
    """The filters of extensions that it configures."""
    routed: bytes | None = None
    """What had come back before the hook VirtualHost; None: the node without what is ours."""
    closed: frozenset[str] = frozenset()
    """The names of the routes that nobody has answered for, or whose answer is refused: they are
    closed in it, and have no last state of their own."""


GOOD: Table[nodes.HostKey, Good] = Table("last good hosts")
"""Written by the controller when the answer `shaped` is finished."""


class TemplateKey(NamedTuple):
    """A listener for HTTP whose template extensions are asked about."""

    fleet: str
    listener: str
    is_quic: bool = False
    """The one for HTTP/3 beside it."""


class GoodListener(NamedTuple):
    """The last state of a listener that all extensions have answered for."""

    node: nodes.Listener
    policy: Downstream
    """What its template was made of, with the answer: the clusters of both stay asked for."""
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
    """Where a stream went when extensions had last answered for all its clusters."""

    stream: nodes.Stream
    is_terminated: bool = False
    """TLS ends at Envoy."""


GOOD_STREAMS: Table[StreamKey, GoodStream] = Table("last good streams")
"""Written by the controller when the answer `shaped_stream` is finished."""


class Told(NamedTuple):
    """What the author of an object is told of its host or listener."""

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
    """Every extension has answered, and what is served is made of it."""
    is_good: bool = True
    """What is served becomes the last good state: every extension has answered for it, but for
    routes that are held back or closed."""
    until_then: Literal["last", "held", "partly", "unmodified"] = "unmodified"
    """What is served until it is finished: the last good state; the host with those routes held
    back that are not answered for, or some of them closed because they have no last state; or the
    host without changes."""
    origins: tuple[ObjectRef, ...] = ()
    """The objects that are told: those that want the host, or the routes that wait."""
    refused: tuple[Question, ...] = ()
    """Those whose replies led to something that is refused."""


shaped: OpenQuery[nodes.HostKey, Shaped | None] = OpenQuery("shaped")
"""How a host is to be served; None where there is none. Answered by `contour.envoy.shaping`."""


class ShapedListener(NamedTuple):
    """A listener as extensions want it. The fields are those of a host (`Shaped`)."""

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
    """Extensions have answered for all its clusters."""
    is_last: bool = False
    """What is served is the last good state."""
    origins: tuple[ObjectRef, ...] = ()


shaped_stream: OpenQuery[StreamKey, ShapedStream | None] = OpenQuery("shaped_stream")
"""How a stream is to be served; None where there is none. Answered by
`contour.envoy.streamshaping`."""


class Opened(NamedTuple):
    """What is served of a listener, and nothing of what is asked."""

    good: GoodListener | None
    """None: it is not opened."""


@query
def opened(view: View, key: TemplateKey) -> Opened | None:
    """What is served of a listener for HTTP that extensions shape."""
    found = view.ask(shaped_listener, key)
    return Opened(found.served) if found is not None else None


class Served(NamedTuple):
    """What is served of a host, and nothing of what is asked."""

    good: Good | None
    """None: it is closed."""


@query
def served(view: View, key: nodes.HostKey) -> Served | None:
    """What is served of a host: the same while it waits, so that it is not encoded again."""
    found = view.ask(shaped, key)
    return Served(found.served) if found is not None else None


def silences(found: Iterable[Told]) -> str:
    """What is told, as one text."""
    return "; ".join(f"extension {it.server} {it.text}" for it in dict.fromkeys(found))


# All clusters and Secrets of a fleet at once.

PROGRESS: Table[str, tuple[Told, ...]] = Table("progress of translations")
"""Why there is no newer answer about all clusters of a fleet; empty if nothing is wrong."""


class Translated(NamedTuple):
    """The clusters and Secrets of a fleet as extensions want them."""

    wanted: Lists
    """What the objects want, the Secrets with their private parts: the same one for as long as that
    does not change."""
    clusters: Mapping[str, bytes]
    """By name: the clusters that are not as they were, and those that are new."""
    secrets: Mapping[str, bytes | None]
    """The same for Secrets; None where nothing is served."""
    asked: tuple[Question, ...]
    told: tuple[Told, ...] = ()
    silent: tuple[Told, ...] = ()
    is_finished: bool = True
    passes: bool = True
    """What is new may be served without the changes that are missing."""
    origins: tuple[ObjectRef, ...] = ()
    refused: tuple[Question, ...] = ()
    """Those whose replies have something that is refused."""

    def __repr__(self) -> str:
        return f"<of {self.wanted}: {len(self.clusters)} and {len(self.secrets)} changed>"


translated: OpenQuery[FleetKey, Translated | None] = OpenQuery("translated")
"""All clusters and Secrets of a fleet; None where no extension is asked. Answered by
`contour.envoy.translating`."""
