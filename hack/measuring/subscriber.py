"""A client without a socket that subscribes to everything that Envoy would, and accepts it.

It drives the protocol of `contour.xds` as a connection would, so that "new xDS bytes" are the very
bytes that would go out next.
"""

import time
from collections.abc import Iterator
from typing import Any

from envoy.service.discovery.v3.discovery_pb2 import (
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
)

from contour.xds import delta, resources
from contour.xds.fleet import Fleet
from contour.xds.stream import Node, Stream


class Subscriber:
    """The protocol's side of one Envoy."""

    def __init__(self, fleet: Fleet) -> None:
        self.node = Node("subscriber", fleet.name)
        self._stream = Stream(delta, lambda _: fleet, lambda: None)
        self._fleet = fleet
        self._asked: set[tuple[str, str]] = set()
        self._is_introduced = False

    def start(self) -> int:
        """Requests everything; returns the number of bytes that it got."""
        for type_url in (resources.CLUSTER, resources.LISTENER, resources.SCOPE):
            self._ask(DeltaDiscoveryRequest(type_url=type_url))
        return self.accept_all()

    def pull(self) -> bytes | None:
        """The message that would be sent next."""
        return self._stream.response(time.monotonic())

    def accept_all(self) -> int:
        """Takes and acknowledges everything, and requests what that refers to."""
        return self.accept(self.pull())

    def accept(self, message: bytes | None) -> int:
        """Acknowledges a response and all that follow it; returns their number of bytes."""
        total = 0
        while message is not None:
            total += len(message)
            response = DeltaDiscoveryResponse.FromString(message)
            self._ask(
                DeltaDiscoveryRequest(type_url=response.type_url, response_nonce=response.nonce)
            )
            self._follow(response)
            message = self.pull()
        return total

    def close(self) -> None:
        """Ends the stream."""
        self._stream.close(time.monotonic())

    def _follow(self, response: Any) -> None:
        """Subscribes to what Envoy would request next, by name."""
        wanted: dict[str, list[str]] = {}
        for name in (resources.Name(response.type_url, it.name) for it in response.resources):
            for type_url, needed in self._references(name):
                if (type_url, needed) not in self._asked:
                    self._asked.add((type_url, needed))
                    wanted.setdefault(type_url, []).append(needed)
        for type_url, names in wanted.items():
            self._ask(DeltaDiscoveryRequest(type_url=type_url, resource_names_subscribe=names))

    def _references(self, name: resources.Name) -> Iterator[tuple[str, str]]:
        if name.type_url == resources.SCOPE:
            yield resources.ROUTE, name.name
        if name.type_url == resources.LISTENER:  # every secret belongs to a filter chain
            yield from ((resources.SECRET, it) for it in self._fleet.store.types[resources.SECRET])
        resource = self._fleet.store.resource(name)
        for part in resource.parts.values() if resource else ():
            for it in part.needs:
                if it.type_url == resources.ENDPOINTS:
                    yield it.type_url, it.name

    def _ask(self, request: Any) -> None:
        if not self._is_introduced:
            request.node.id, request.node.cluster = self.node.id, self.node.cluster
            self._is_introduced = True
        self._stream.receive(request.SerializeToString(), time.monotonic())
