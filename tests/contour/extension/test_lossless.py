"""The dataclasses lose nothing of what Envoy is told: only what an extension changes is changed.

A message that was changed is encoded by them as a whole.
"""

import collections
import sys
from collections.abc import Iterator, Mapping

import betterproto2
import pytest
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy_data_plane.envoy.config.cluster.v3 import Cluster
from envoy_data_plane.envoy.config.listener.v3 import Listener
from envoy_data_plane.envoy.config.route.v3 import VirtualHost
from envoy_data_plane.envoy.extensions.filters.network.http_connection_manager.v3 import (
    HttpConnectionManager,
)
from google.protobuf.message import Message

from contour.cli import manifestinput
from contour.envoy import encoding, messages
from contour.extension import edited
from contour.hooks import canonical
from contour.xds import resources
from tests.golang import ROOT

CLASSES: dict[str, type[betterproto2.Message]] = {
    "Cluster": Cluster,
    "Listener": Listener,
    "VirtualHost": VirtualHost,
}


def settled(message: Message) -> bytes:
    collections.deque(canonical.Settling(sys.maxsize).steps(message), maxlen=0)
    return encoding.encoded(message)


@pytest.fixture(scope="module", params=["httpproxy", "gateway"])
def served(request: pytest.FixtureRequest) -> Mapping[str, dict[bytes, Message]]:
    """The messages of each class that the manifests of all features lead to."""
    found: dict[str, dict[bytes, Message]] = {it: {} for it in CLASSES}
    folders = (ROOT / "tests/features" / request.param, ROOT / "manifests/examples/quickstart")
    paths = tuple(map(str, folders))
    fleets = manifestinput.read(paths, lenient=True, translates=True).fleets
    for held in fleets.by_name.values():
        for name, resource in held.items():
            for it in _messages(name, resource):
                body = settled(it)
                found.get(it.DESCRIPTOR.name, {})[body] = it
    return found


def _messages(name: resources.Name, resource: resources.Resource) -> Iterator[Message]:
    message = messages.TYPES[name.type_url]()
    message.ParseFromString(resource.body())
    if isinstance(message, route_pb2.RouteConfiguration):
        yield from message.virtual_hosts
    else:
        yield message


@pytest.mark.parametrize("name", CLASSES)
def test_a_message_comes_back_as_it_was(
    served: Mapping[str, dict[bytes, Message]], name: str
) -> None:
    assert served[name]
    for body, message in served[name].items():
        message.ParseFromString(bytes(CLASSES[name].parse(body)))
        assert settled(message) == body


def test_so_does_the_connection_manager_inside_a_listener(
    served: Mapping[str, dict[bytes, Message]],
) -> None:
    seen = 0
    for body in served["Listener"]:
        listener = Listener.parse(body)
        for it in (it for chain in listener.filter_chains for it in chain.filters):
            config = it.typed_config
            if config is not None and config.type_url.endswith(".HttpConnectionManager"):
                with edited(config, HttpConnectionManager) as manager:
                    manager.stat_prefix += "!"
                with edited(config, HttpConnectionManager) as manager:
                    manager.stat_prefix = manager.stat_prefix[:-1]
                seen += 1
        after = listener_pb2.Listener.FromString(bytes(listener))
        assert settled(after) == body
    assert seen
