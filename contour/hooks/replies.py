"""A server's reply, which is not trusted: read, checked, and brought into its canonical form.

The checks need only the question and the reply: the bytes must be valid messages, and the resources
must be those of the question. The caller decides about what the resources refer to, and whether
Envoy accepts them.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from google.protobuf.message import DecodeError, Message

from contour import turns
from contour.envoy import encoding
from contour.hooks import canonical, wire
from contour.hooks.wire import Field, Hook, Resources, UnreadableError

Reason = Literal[
    "Unavailable", "DeadlineExceeded", "TooLarge", "Unimplemented", "Error", "Unreadable",
    "WrongName",
]  # fmt: skip
"""Why there is no answer.

- `Unavailable`: there is no connection, or it broke; TLS that fails looks like this, too.
- `DeadlineExceeded`: the server did not answer in time.
- `TooLarge`: the question or the reply exceeds a bound.
- `Unimplemented`: the server does not have the hook.
- `Error`: the server answered with another error.
- `Unreadable`: the reply is not what it should be.
- `WrongName`: the reply is about another resource, or has a name twice.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server in canonical form: equal answers have equal bytes."""

    body: bytes = field(repr=False)
    """The reply, as `wire.encoded_reply` writes it: rows and files may hold it."""
    remarks: tuple[str, ...] = ()
    """Remarks for the author of the server, although the answer is used."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer."""

    reason: Reason
    message: str
    """For people: one line of at most 300 characters, which may quote the server."""


_LONGEST = 300


def failure(reason: Reason, message: str) -> Failure:
    """A failure with a message that may come from the server: one line of bounded length."""
    line = " ".join("".join(it if it.isprintable() else " " for it in message).split())
    return Failure(reason, line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")


MOST_BYTES: Final = 2 << 20
"""The size limit of one resource of a list, and of a listener, before it is decoded. What is
allowed after that is less for each kind."""
MOST_PARTS: Final = 100_000
"""How many messages and entries of lists an answer may have, and one more for each 4 bytes of the
question: rules read each of them, and one takes two bytes of a reply."""


async def read(hook: Hook, question: bytes, body: bytes) -> Answer | Failure:
    """Reads a reply to a question; a long one is read in steps, between which other tasks run."""
    most = MOST_PARTS + len(question) // 4
    too_many = failure("TooLarge", f"the reply has more than {most} messages and list entries")
    if wire.has_more_fields(body, most):
        return too_many
    try:
        reply = wire.decoded_reply(hook, body)
        asked = wire.decoded_request(hook, question).resources
        reading = _Reading(hook, asked, canonical.Settling(most))
        await turns.take(reading.steps(reply.resources))
    except UnreadableError as error:
        return failure("Unreadable", str(error))
    except _WrongNameError as error:
        return failure("WrongName", str(error))
    except _TooLargeError as error:
        return failure("TooLarge", str(error))
    except canonical.TooManyError:
        return too_many
    remarks = tuple(sorted(_remarks(reading.settling.unknown, reply.unknown)))
    return Answer(wire.encoded_reply(hook, reading.resources), remarks)


def _remarks(types: set[str], fields: tuple[int, ...]) -> Iterator[str]:
    for it in types:
        text = f"the type {it or '(none)'} is not known here, so what it holds is not checked"
        yield failure("Unreadable", text).message
    for number in fields:
        yield f"field {number} of the reply is not one of this hook's, and is ignored"


class _WrongNameError(Exception):
    """The reply is about something else than the question."""


class _TooLargeError(Exception):
    """A resource is too large to be decoded."""


class _Reading:
    """A reply that is being read."""

    def __init__(self, hook: Hook, asked: Resources, settling: canonical.Settling) -> None:
        self._is_list = hook == "Translation"
        self._asked = asked
        self.settling = settling
        self.resources: dict[Field, tuple[bytes, ...]] = {}

    def steps(self, replied: Resources) -> Iterator[None]:
        """Reads it: a step for each message directly inside a resource."""
        for name, values in replied.items():
            same = frozenset(self._asked.get(name, ()))
            found: list[bytes] = []
            for it in values:
                if it in same:  # what we have sent is in canonical form already
                    found.append(it)
                else:
                    found.append((yield from self._settled(name, it)))
                    yield
            self._check_names(name, found)
            self.resources[name] = tuple(found)

    def _settled(self, name: Field, body: bytes) -> Generator[None, None, bytes]:
        if name in _BOUNDED and len(body) > MOST_BYTES:
            raise _TooLargeError(f"one of {name} has {len(body)} bytes of {MOST_BYTES}")
        message = _TYPES[name]()
        try:
            message.ParseFromString(body)
        except DecodeError as error:
            raise UnreadableError(f"{name} is no {message.DESCRIPTOR.name}: {error}") from error
        yield from self.settling.steps(message)
        if not encoding.is_readable(_HOLDERS[name](message)):
            raise UnreadableError(f"{name} {encoding.TOO_DEEP}, where it is to stand")
        return encoding.encoded(message)

    def _check_names(self, name: Field, found: list[bytes]) -> None:
        if self._is_list:
            _check_unique(name, found)
        elif found and (asked := self._asked.get(name)) and found[0] != asked[0]:
            _check_same(name, asked[0], found[0])


def _check_unique(name: Field, found: list[bytes]) -> None:
    names = [wire.name(it) for it in found]
    if not all(names):
        raise _WrongNameError(f"one of {name} has no name")
    seen: set[str] = set()
    for it in names:
        if it in seen:
            raise _WrongNameError(f"{name} has {it} twice")
        seen.add(it)


def _check_same(name: Field, asked: bytes, found: bytes) -> None:
    before, after = _identity(name, asked), _identity(name, found)
    for what, it in before.items():
        if after[what] != it:
            raise _WrongNameError(f"{name}.{what} was {it!r} and is {after[what]!r}")


def _identity(name: Field, body: bytes) -> Mapping[str, str | list[str]]:
    """What must not change: the name of the resource. The bytes have been decoded before."""
    match name:
        case "route":
            return {"name": route_components_pb2.Route.FromString(body).name}
        case "virtual_host":
            host = route_components_pb2.VirtualHost.FromString(body)
            return {"name": host.name, "domains": list(host.domains)}
        case _:
            return {"name": wire.name(body)}


_Message = (
    route_components_pb2.Route
    | route_components_pb2.VirtualHost
    | listener_pb2.Listener
    | cluster_pb2.Cluster
    | secret_pb2.Secret
)
_BOUNDED: Final = frozenset[Field]({"listener", "clusters", "secrets"})
_TYPES: Mapping[Field, Callable[[], _Message]] = {
    "route": route_components_pb2.Route,
    "virtual_host": route_components_pb2.VirtualHost,
    "listener": listener_pb2.Listener,
    "clusters": cluster_pb2.Cluster,
    "secrets": secret_pb2.Secret,
}


def _table(host: route_components_pb2.VirtualHost) -> route_pb2.RouteConfiguration:
    return route_pb2.RouteConfiguration(virtual_hosts=[host])


_HOLDERS: Mapping[Field, Callable[[Any], Message]] = {
    "route": lambda it: _table(route_components_pb2.VirtualHost(routes=[it])),
    "virtual_host": _table,
    "listener": lambda it: it,
    "clusters": lambda it: bootstrap_pb2.Bootstrap.StaticResources(clusters=[it]),
    "secrets": lambda it: bootstrap_pb2.Bootstrap.StaticResources(secrets=[it]),
}
"""What a resource is put into, where it stands deeper."""
