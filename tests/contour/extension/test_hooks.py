"""What becomes of messages on their way through an extension's methods."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy_data_plane.envoy.config.cluster.v3 import Cluster
from envoy_data_plane.envoy.config.core.v3 import HeaderValue, HeaderValueOption
from envoy_data_plane.envoy.config.listener.v3 import Listener
from envoy_data_plane.envoy.config.route.v3 import Route, VirtualHost
from pydantic import ValidationError

from contour.extension import Extension, RouteContext, Translation, edited, packed
from contour.extension.answering import answer
from contour.hooks import wire
from contour.hooks.wire import Hook, Request, Resources
from tests.contour.hooks.questions import cluster, encoded, host, strange

HOST = strange(host("shop"))
OBJECT = {
    "apiVersion": "example.com/v1",
    "kind": "Filter",
    "metadata": {"name": "mine", "namespace": "team"},
    "spec": {"header": "x-team", "value": "a"},
}


async def replied(extension: Extension, hook: Hook, request: Request) -> Resources:
    body = await answer(extension, hook, wire.encoded_request(hook, request))
    return wire.decoded_reply(hook, body).resources


def added(value: str) -> HeaderValueOption:
    return HeaderValueOption(header=HeaderValue(key="x", value=value))


class Silent(Extension):
    """Implements nothing."""


class Same(Extension):
    """Returns what it was given."""

    async def route(self, route: Route, context: RouteContext) -> Route:
        del context
        return route

    async def virtual_host(self, virtual_host: VirtualHost) -> VirtualHost:
        return virtual_host

    async def listener(self, listener: Listener) -> Listener:
        return listener

    async def translation(self, translation: Translation) -> Translation:
        for it in translation.clusters.values():
            assert it.name
        return translation


CLUSTERS = (strange(cluster("a")), cluster("b"))


@pytest.mark.parametrize("extension", [Silent(), Same()], ids=["silent", "same"])
@pytest.mark.parametrize(
    ("hook", "resources", "expected"),
    [
        ("Route", {"route": (b"\xca\x82\x06\x03new",)}, {}),
        ("VirtualHost", {"virtual_host": (HOST,)}, {}),
        ("HTTPListener", {"listener": (cluster("l"),)}, {}),
        ("Translation", {"clusters": CLUSTERS, "secrets": ()},
         {"clusters": CLUSTERS, "secrets": ()}),
    ],
)  # fmt: skip
async def test_what_is_not_changed_goes_back_as_it_came(
    extension: Extension, hook: Hook, resources: Resources, expected: Resources
) -> None:
    assert await replied(extension, hook, Request(resources)) == expected


async def test_fields_that_the_messages_do_not_know_survive_a_change() -> None:
    class Adding(Extension):
        async def virtual_host(self, virtual_host: VirtualHost) -> VirtualHost:
            virtual_host.routes[0].response_headers_to_add.append(added("1"))
            return virtual_host

    inner = route_components_pb2.Route(name="r")
    inner.ParseFromString(strange(encoded(inner)))
    before = route_components_pb2.VirtualHost(name="shop", domains=["shop"], routes=[inner])
    body = strange(encoded(before))
    found = await replied(Adding(), "VirtualHost", Request({"virtual_host": (body,)}))
    after = route_components_pb2.VirtualHost.FromString(found["virtual_host"][0])
    assert after.routes[0].response_headers_to_add.pop().header.value == "1"
    assert encoded(after) == body


async def test_of_a_list_only_what_was_changed_is_encoded_again() -> None:
    decoded: list[str] = []

    class Changing(Extension):
        async def translation(self, translation: Translation) -> Translation:
            clusters = translation.clusters
            clusters["b"].alt_stat_name = "changed"
            del clusters["c"]
            clusters["new"] = Cluster(name="new")
            decoded.extend(it for it in clusters if it in clusters._decoded)
            return translation

    lists: Resources = {"clusters": tuple(map(cluster, "abcd"))}
    found = await replied(Changing(), "Translation", Request(lists))
    clusters = map(cluster_pb2.Cluster.FromString, found["clusters"])
    names = [(it.name, it.alt_stat_name) for it in clusters]
    assert names == [("a", ""), ("b", "changed"), ("d", ""), ("new", "")]
    assert decoded == ["b", "new"]


@dataclass
class Spec:
    header: str
    value: str


class Reading(Extension):
    """Adds the header that an object asks for."""

    async def route(self, route: Route, context: RouteContext) -> Route:
        for it in context.resources:
            spec = it.spec(Spec)
            said = f"{it.api_version} {it.kind} {it.namespace}/{it.name} {spec.value}"
            route.response_headers_to_add.append(added(said))
        assert context.hostnames == ("a", "b")
        return route


def asked(content: Any) -> Request:
    body = json.dumps(content).encode()
    return Request({"route": (b"",)}, ("a", "b"), (body,))


async def test_a_route_is_given_the_objects_that_its_rule_refers_to() -> None:
    found = await replied(Reading(), "Route", asked(OBJECT))
    route = route_components_pb2.Route.FromString(found["route"][0])
    (header,) = route.response_headers_to_add
    assert header.header.value == "example.com/v1 Filter team/mine a"


@pytest.mark.parametrize("spec", [None, {}, {"header": "x"}, {"header": 1, "value": "x"}, 7])
async def test_an_object_of_the_wrong_shape_is_an_error(spec: object) -> None:
    with pytest.raises(ValidationError):
        await replied(Reading(), "Route", asked({**OBJECT, "spec": spec}))


def test_what_an_any_holds_is_edited_in_place() -> None:
    config = packed(Route(name="before"))
    config.value = strange(config.value)
    with edited(config, Route) as route:
        route.name = "after"
    assert route_components_pb2.Route.FromString(config.value).name == "after"
    assert config.value.endswith(b"new")


def test_an_any_of_another_type_is_not_read_as_this_one() -> None:
    with (
        pytest.raises(TypeError, match=r"Cluster is not .*Route"),
        edited(packed(Cluster()), Route),
    ):
        pass
