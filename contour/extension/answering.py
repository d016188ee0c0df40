"""Turns an encoded question into an encoded reply, by calling an extension's methods."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from betterproto2 import Message
from envoy_data_plane.envoy.config.cluster.v3 import Cluster
from envoy_data_plane.envoy.config.listener.v3 import Listener
from envoy_data_plane.envoy.config.route.v3 import Route, VirtualHost
from envoy_data_plane.envoy.extensions.transport_sockets.tls.v3 import Secret

from contour.extension.interface import Extension, Named, Resource, RouteContext, Translation
from contour.hooks import wire
from contour.hooks.wire import Field, Hook, Request, Resources

_M = TypeVar("_M", bound=Message)


async def answer(extension: Extension, hook: Hook, question: bytes) -> bytes:
    """The reply. Raises whatever the extension raises, and wire.UnreadableError."""
    request = wire.decoded_request(hook, question)
    return wire.encoded_reply(hook, await _answered(extension, hook, request))


async def _answered(extension: Extension, hook: Hook, request: Request) -> Resources:
    match hook:
        case "Route":
            objects = tuple(Resource(it) for it in request.extension_resources)
            context = RouteContext(request.hostnames, objects)
            return await _single(request, Route, lambda it: extension.route(it, context))
        case "VirtualHost":
            return await _single(request, VirtualHost, extension.virtual_host)
        case "HTTPListener":
            return await _single(request, Listener, extension.listener)
        case "Translation":
            return await _lists(request, extension)


async def _single(
    request: Request, of: type[_M], modify: Callable[[_M], Awaitable[_M | None]]
) -> Resources:
    """The modified resource; none if there is no change, which leaves the original as it is."""
    result: dict[Field, tuple[bytes, ...]] = {}
    for name, bodies in request.resources.items():
        for body in bodies:
            given = of.parse(body)
            before = bytes(given)
            found = await modify(given)
            if found is not None and (after := bytes(found)) != before:
                result[name] = (after,)
    return result


async def _lists(request: Request, extension: Extension) -> Resources:
    clusters = Named(Cluster, request.resources.get("clusters", ()))
    secrets = Named(Secret, request.resources.get("secrets", ()))
    found = await extension.translation(Translation(clusters, secrets))
    if found is None:
        return request.resources
    return {"clusters": found.clusters.encoded(), "secrets": found.secrets.encoded()}
