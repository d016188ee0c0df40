"""The interface that the author of an extension implements, and the arguments of its hooks."""

from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from betterproto2 import Message
from envoy_data_plane.envoy.config.cluster.v3 import Cluster
from envoy_data_plane.envoy.config.listener.v3 import Listener
from envoy_data_plane.envoy.config.route.v3 import Route, VirtualHost
from envoy_data_plane.envoy.extensions.transport_sockets.tls.v3 import Secret
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contour.hooks import wire

M = TypeVar("M", bound=Message)
_T = TypeVar("_T")


class InvalidError(Exception):
    """The user's object is wrong; the text is told to the user.

    The place that was asked about keeps its last good state. A `pydantic.ValidationError`, as
    `Resource.spec` raises it, is told in the same way; any other exception is a bug of the server.
    """


class Extension:
    """An extension server. Implement the hooks you need, and register the same ones.

    A hook modifies what it is given and returns it. None, or an object without a change, leaves
    the original as it is, byte by byte. Fields that `envoy-data-plane` does not know survive in
    an object that was given, but not in a copy of it.

    Equal questions must have equal answers: answers are kept, and a question is asked again only
    when its content changes or after a new connection. Several questions may be asked at once.
    """

    async def route(self, route: Route, context: "RouteContext") -> Route | None:
        """Modifies a route of a rule that refers to one of this extension's kinds."""
        del route, context
        return None

    async def virtual_host(self, virtual_host: VirtualHost) -> VirtualHost | None:
        """Modifies a virtual host, all of its routes included; `name` and `domains` must stay."""
        del virtual_host
        return None

    async def listener(self, listener: Listener) -> Listener | None:
        """Modifies an HTTP listener; its `name` must stay."""
        del listener
        return None

    async def translation(self, translation: "Translation") -> "Translation | None":
        """Adds, modifies or removes clusters and Secrets, of all there are."""
        del translation
        return None


class _Meta(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str = ""
    namespace: str = ""


class _Object(BaseModel):
    model_config = ConfigDict(frozen=True)

    api_version: str = Field("", alias="apiVersion")
    kind: str = ""
    metadata: _Meta = _Meta()
    spec: object = None


@dataclass(frozen=True)
class Resource:
    """An object of one of this extension's kinds, to which a route's rule refers."""

    body: bytes
    """JSON, without status and managedFields."""

    @cached_property
    def _object(self) -> _Object:
        return _Object.model_validate_json(self.body)

    @property
    def api_version(self) -> str:
        """Group and version, as in `example.com/v1`."""
        return self._object.api_version

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return self._object.kind

    @property
    def name(self) -> str:
        """The name of the object, in its namespace."""
        return self._object.metadata.name

    @property
    def namespace(self) -> str:
        """The namespace of the object, which is also that of the route."""
        return self._object.metadata.namespace

    def spec(self, of: type[_T]) -> _T:
        """The `spec` as a value of a class of yours: a dataclass, a pydantic model, a TypedDict.

        Raises pydantic.ValidationError, with which the server answers if you let it pass.
        """
        return TypeAdapter(of).validate_python(self._object.spec)


@dataclass(frozen=True, slots=True)
class RouteContext:
    """What is known about a route, beside the route itself."""

    hostnames: tuple[str, ...] = ()
    """The host names of the virtual host to which it belongs."""
    resources: tuple[Resource, ...] = ()
    """The objects that its rule refers to, in the order of its filters."""


class Named(MutableMapping[str, M], Generic[M]):
    """Messages by name, in their order. Only those that are looked at are decoded.

    What is not looked at, or not changed, goes back byte by byte.
    """

    def __init__(self, of: type[M], bodies: Iterable[bytes] = ()) -> None:
        self._type = of
        self._bodies = {wire.name(it): it for it in bodies}
        self._decoded: dict[str, _Decoded[M]] = {}

    def __getitem__(self, name: str) -> M:
        if name not in self._decoded:
            body = self._bodies[name]
            message = self._type.parse(body)
            self._decoded[name] = _Decoded(message, body, bytes(message))
        return self._decoded[name].message

    def __setitem__(self, name: str, message: M) -> None:
        self._bodies.setdefault(name, b"")  # its place in the order
        self._decoded[name] = _Decoded(message)

    def __delitem__(self, name: str) -> None:
        del self._bodies[name]
        self._decoded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    def encoded(self) -> tuple[bytes, ...]:
        """All of them, in bytes."""
        decoded = self._decoded
        return tuple(
            decoded[name].encoded() if name in decoded else body
            for name, body in self._bodies.items()
        )


@dataclass(slots=True)
class _Decoded(Generic[M]):
    message: M
    original: bytes | None = None
    before: bytes = field(default=b"", repr=False)
    """The message as our classes encode it, before the extension could change it."""

    def encoded(self) -> bytes:
        after = bytes(self.message)
        return self.original if self.original is not None and after == self.before else after


@dataclass(frozen=True, slots=True)
class Translation:
    """All clusters and Secrets of a fleet. Secrets come without private keys, which are put back
    where name and certificate stay."""

    clusters: Named[Cluster]
    secrets: Named[Secret]
