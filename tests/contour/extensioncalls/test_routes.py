"""The hook `Route`: routes whose rules refer to objects of extensions, on their way into hosts."""

import copy
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.config.route.v3 import route_components_pb2 as pb

from contour.hooks import wire
from contour.hooks.wire import Hook
from contour.xds import resources
from crds.meta import ObjectRef
from dag.fleetnames import DEFAULT_FLEET
from dag.statuses import RouteStatus
from tests.contour.extensioncalls.served import (
    Shaped,
    asked_host,
    extension,
    instance,
    reply,
    running,
)
from tests.testbed import world
from tests.testbed.extensionserver import Scripted, never, scripted
from tests.testbed.world import Document

GROUP = "example.com"
GUARDS = {"resources": [{"group": GROUP, "version": "v1", "kind": "Guard"}]}
ROUTE: Document = {"hooks": {"post": ["Route"]}} | GUARDS
BOTH: Document = {"hooks": {"post": ["Route", "VirtualHost"]}} | GUARDS
HOST = "shop.example.com"
GATEWAY: Document = {"gateway": {"controllerName": "projectcontour.io/gateway-controller"}}
WORLD = world.World.of(10)
OTHER = "other"
BACKEND = [WORLD.service(0), WORLD.slice(0)]


def guard(name: str, value: str = "1") -> Document:
    """An object of the extension's."""
    metadata = {"name": name, "namespace": world.namespace(0), "resourceVersion": value}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Guard",
        "metadata": metadata,
        "spec": {"value": value},
        "status": {"seen": value},
    }


def route(number: int, path: str, *guards: str) -> Document:
    """An HTTPRoute of the host, whose rule refers to these objects."""
    found = world.http_route(number, 0, HOST, path)
    found["spec"]["rules"][0]["filters"] = [
        {
            "type": "ExtensionRef",
            "extensionRef": {"group": GROUP, "kind": "Guard", "name": it},
        }
        for it in guards
    ]
    return found


def _elsewhere(document: Document) -> Document:
    """The route to another Service."""
    found = copy.deepcopy(document)
    found["spec"]["rules"][0]["backendRefs"][0]["name"] = OTHER
    return found


def _other_backend() -> list[Document]:
    service, endpoints = copy.deepcopy(BACKEND)
    service["metadata"]["name"] = OTHER
    endpoints["metadata"] |= {"name": f"{OTHER}-x", "labels": {"kubernetes.io/service-name": OTHER}}
    return [service, endpoints]


def asked(body: bytes) -> tuple[pb.Route, wire.Request]:
    """What is asked about a route."""
    request = wire.decoded_request("Route", body)
    (found,) = request.resources["route"]
    return pb.Route.FromString(found), request


def values(request: wire.Request) -> list[str]:
    return [json.loads(it)["spec"]["value"] for it in request.extension_resources]


async def shapes(hook: Hook, body: bytes) -> bytes:
    """Adds a header for each object to a route, and one for each of these headers to a host."""
    if hook == "VirtualHost":
        host = asked_host(body)
        found = [it.header.value for each in host.routes for it in each.response_headers_to_add]
        host.response_headers_to_add.add().header.MergeFrom(_header("x-host", ",".join(found)))
        return reply(host)
    made, request = asked(body)
    for it in values(request):
        made.response_headers_to_add.add().header.MergeFrom(_header("x-guard", it))
    return wire.encoded_reply("Route", {"route": (made.SerializeToString(),)})


def _header(key: str, value: str) -> Any:
    found = pb.Route().response_headers_to_add.add().header
    found.key, found.value = key, value
    return found


class Routes(Shaped):
    """An instance, and what it serves of the host."""

    def put(self, *documents: Document, gone: tuple[Document, ...] = ()) -> None:
        self.instance.take(world.batch(*documents, gone=gone))

    @property
    def served(self) -> dict[str, str]:
        """What is done on each path: the headers, or the answer."""
        for part in self.parts(HOST):
            return {
                it.match.path_separated_prefix or it.match.prefix: _told(it) for it in part.routes
            }
        return {}

    @property
    def entries(self) -> list[pb.Route]:
        """The routes of the host."""
        return list(next(self.parts(HOST)).routes)

    @property
    def clusters(self) -> set[str]:
        """The names of the clusters that are served."""
        store = self.instance.server.fleet(DEFAULT_FLEET).store.types
        return set(store[resources.CLUSTER])

    @property
    def headers(self) -> list[str]:
        """Those of the host."""
        return [
            it.header.value for part in self.parts(HOST) for it in part.response_headers_to_add
        ][:1]

    def said(self, number: int) -> str:
        """What the author of a route is told."""
        subject = ObjectRef("HTTPRoute", world.namespace(0), f"route-{number}")
        found = self.instance.controller.board.told[subject]
        assert isinstance(found, RouteStatus)
        return "; ".join(it.message for it in found.parents[0].conditions)


def _told(it: pb.Route) -> str:
    if it.HasField("direct_response"):
        return str(it.direct_response.status)
    return ",".join(header.header.value for header in it.response_headers_to_add)


@asynccontextmanager
async def routes(
    *documents: Document, script: Any = shapes, answers: Path | None = None, **more: Any
) -> AsyncGenerator[Routes]:
    """An instance with these objects behind an extension."""
    async with scripted(script) as server, _running(server, answers, **(more or ROUTE)) as of:
        of.put(*world.gateway(), *BACKEND, *documents)
        await of.instance.asker.begin()
        yield of


@asynccontextmanager
async def _running(server: Scripted, answers: Path | None, **more: Any) -> AsyncGenerator[Routes]:
    made = instance(extension(server, **more), answers=answers, **GATEWAY)
    async with running(made, server):
        yield Routes(made, (server,))


async def test_a_route_is_asked_about_with_its_hosts_and_objects() -> None:
    seen: list[tuple[pb.Route, wire.Request]] = []

    async def script(_: Hook, body: bytes) -> bytes:
        seen.append(asked(body))
        return b""

    two = route(1, "/a", "one", "two")
    async with routes(guard("one", "1"), guard("two", "2"), two, route(2, "/b"), script=script):
        ((found, request),) = seen
    assert found.match.path_separated_prefix == "/a"
    assert request.hostnames[0] == HOST
    assert values(request) == ["1", "2"]
    (first, _) = map(json.loads, request.extension_resources)
    assert first["metadata"] == {"name": "one", "namespace": world.namespace(0)}
    assert (first["apiVersion"], first["kind"]) == (f"{GROUP}/v1", "Guard")
    assert "status" not in first


async def test_it_is_served_as_the_extension_says_and_other_routes_as_they_are() -> None:
    async with routes(guard("one"), route(1, "/a", "one"), route(2, "/b")) as of:
        assert of.served == {"/a": "1", "/b": ""}


async def test_an_edit_of_an_object_asks_about_its_routes_alone() -> None:
    both = (route(1, "/a", "one"), route(2, "/b", "two"))
    async with routes(guard("one"), guard("two", "2"), *both) as of:
        before = of.servers[0].asked["Route"]
        of.put(guard("one", "3"))
        await of.until(lambda: of.served == {"/a": "3", "/b": "2"})
        assert of.servers[0].asked["Route"] == before + 1


async def test_without_its_object_a_route_answers_500_and_again_with_it() -> None:
    async with routes(guard("one"), route(1, "/a", "one")) as of:
        of.put(gone=(guard("one"),))
        assert of.served == {"/a": "500"}
        assert "Guard.example.com team-0/one not found" in of.said(1)
        of.put(guard("one", "4"))
        await of.until(lambda: of.served == {"/a": "4"})


async def test_hosts_are_asked_about_as_their_routes_have_become() -> None:
    async with routes(guard("one"), route(1, "/a", "one"), **BOTH) as of:
        assert (of.served, of.headers) == ({"/a": "1"}, ["1"])
        of.put(guard("one", "2"))
        await of.until(lambda: of.served == {"/a": "2"})
        assert of.headers == ["2"], "the host was asked about after its route"


async def test_extensions_are_asked_in_their_order_and_each_about_its_own_kinds() -> None:
    async def second(_: Hook, body: bytes) -> bytes:
        made, request = asked(body)
        (header,) = made.response_headers_to_add
        header.header.value += f"+{len(request.extension_resources)}"
        return wire.encoded_reply("Route", {"route": (made.SerializeToString(),)})

    documents = (guard("one"), route(1, "/a", "one"))
    async with scripted(shapes) as a, scripted(second) as b, scripted(never) as c:
        other = {"resources": [{"group": GROUP, "version": "v1", "kind": "Other"}]}
        made = instance(
            extension(a, "a", **ROUTE),
            extension(b, "b", **ROUTE),
            extension(c, "c", **(ROUTE | other)),
            **GATEWAY,
        )
        async with running(made, a, b, c):
            of = Routes(made, (a, b, c))
            of.put(*world.gateway(), *BACKEND, *documents)
            await made.asker.begin()
            assert of.served == {"/a": "1+1"}
            assert not c.asked["Route"]


async def refuses(hook: Hook, body: bytes) -> bytes | grpc.StatusCode:
    """The same, but for objects of the value `bad`."""
    if hook == "Route" and "bad" in values(asked(body)[1]):
        return grpc.StatusCode.INVALID_ARGUMENT
    return await shapes(hook, body)


async def test_a_route_that_is_never_answered_for_is_closed_alone() -> None:
    both = (route(1, "/a", "one"), route(2, "/b", "two"))
    async with routes(guard("one", "bad"), guard("two"), *both, script=refuses) as of:
        assert of.served == {"/a": "503", "/b": "1"}
        assert "the routes that refer to its objects answer 503" in of.said(1)
        assert "shaper" not in of.said(2)
        of.put(route(2, "/c", "two"))
        await of.until(lambda: of.served == {"/a": "503", "/c": "1"})
        of.put(guard("one", "good"))
        await of.until(lambda: of.served == {"/a": "good", "/c": "1"})
        assert "shaper" not in of.said(1)


async def test_an_edit_that_is_not_answered_for_leaves_the_last_state() -> None:
    async with routes(guard("one"), route(1, "/a", "one"), script=refuses) as of:
        of.put(guard("one", "bad"))
        await of.until(lambda: "stays as it was last served" in of.said(1))
        assert of.served == {"/a": "1"}
        of.put(gone=(guard("one"),))
        assert of.served == {"/a": "500"}, "what is closed does not wait"


async def test_a_route_that_waits_stays_alone_and_the_others_of_its_host_go_on() -> None:
    both = (route(1, "/a", "one"), route(2, "/b", "two"))
    async with routes(guard("one"), guard("two", "2"), *both, script=refuses, **BOTH) as of:
        of.put(guard("one", "bad"))
        await of.until(lambda: "each route that it is asked about stays" in of.said(1))
        of.put(guard("two", "3"))
        await of.until(lambda: of.served == {"/a": "1", "/b": "3"})
        assert of.headers == ["1,3"], "the host was asked about with the route as it was"
        assert "shaper" not in of.said(2)
        of.put(guard("one", "4"), guard("two", "bad"))
        await of.until(lambda: of.served == {"/a": "4", "/b": "3"})
        assert "shaper" not in of.said(1)
        assert "shaper" in of.said(2)


async def test_a_route_that_waits_keeps_its_backend() -> None:
    first = route(1, "/a", "one")
    given = (*_other_backend(), guard("one"), first, route(2, "/b"))
    async with routes(*given, script=refuses, **BOTH) as of:
        (before,) = (it.route.cluster for it in of.entries if _told(it) == "1")
        of.put(guard("one", "bad"), _elsewhere(first))
        await of.until(lambda: "stays as it was last served" in of.said(1))
        assert [it.route.cluster for it in of.entries if _told(it) == "1"] == [before]
        assert before in of.clusters
        of.put(guard("one", "2"))
        await of.until(lambda: of.served == {"/a": "2", "/b": ""})
        await of.until(lambda: before not in [it.route.cluster for it in of.entries[:1]])


async def test_a_new_route_that_waits_is_closed_and_the_others_of_its_host_go_on() -> None:
    async with routes(guard("one"), route(1, "/a", "one"), script=refuses) as of:
        of.put(guard("two", "bad"), route(2, "/b", "two"))
        await of.until(lambda: of.served == {"/a": "1", "/b": "503"})
        of.put(guard("one", "3"))
        await of.until(lambda: of.served == {"/a": "3", "/b": "503"})
        of.put(guard("two", "2"))
        await of.until(lambda: of.served == {"/a": "3", "/b": "2"})


async def test_a_route_that_replaces_another_one_keeps_its_host_as_it_was() -> None:
    async with routes(guard("one"), route(1, "/a", "one"), route(2, "/b"), script=refuses) as of:
        of.put(guard("one", "bad"), route(1, "/c", "one"))
        await of.until(lambda: "stays as it was last served" in of.said(1))
        assert of.served == {"/a": "1", "/b": ""}
        of.put(guard("one", "2"))
        await of.until(lambda: of.served == {"/c": "2", "/b": ""})


async def leads_astray(hook: Hook, body: bytes) -> bytes:
    """The same, but routes with objects of the value `bad` lead to a cluster of somebody else."""
    found = await shapes(hook, body)
    if hook == "VirtualHost" or "bad" not in values(asked(body)[1]):
        return found
    made = asked(body)[0]
    made.route.cluster = "somebody-else"
    return wire.encoded_reply("Route", {"route": (made.SerializeToString(),)})


@pytest.mark.parametrize("how", [ROUTE, BOTH])
async def test_a_route_whose_answer_is_refused_stays_alone_if_it_has_been_served(
    how: Document,
) -> None:
    both = (route(1, "/a", "one"), route(2, "/b", "two"))
    async with routes(guard("one"), guard("two", "2"), *both, script=leads_astray, **how) as of:
        of.put(guard("one", "bad"))
        await of.until(lambda: "names the cluster 'somebody-else'" in of.said(1))
        assert "stays as it was last served" in of.said(1)
        of.put(guard("two", "3"))
        await of.until(lambda: of.served == {"/a": "1", "/b": "3"})
        of.put(guard("new", "bad"), route(3, "/n", "new"))
        await of.until(lambda: of.served == {"/a": "1", "/b": "3", "/n": "500"})
        assert "so it is answered with 500" in of.said(3)
        of.put(guard("one", "4"))
        await of.until(lambda: of.served == {"/a": "4", "/b": "3", "/n": "500"})


async def test_a_host_with_a_closed_route_has_a_last_state_too() -> None:
    """The extension goes away altogether: what has been served stays."""
    both = (route(1, "/a", "one"), route(2, "/b", "two"))
    async with routes(guard("one", "bad"), guard("two"), *both, script=refuses, **BOTH) as of:
        assert of.served == {"/a": "503", "/b": "1"}
        await of.servers[0].stop()
        of.put(route(4, "/c"))
        await of.until(lambda: "shaper" in of.said(4))
        assert of.served == {"/a": "503", "/b": "1"}


async def test_a_route_that_was_open_and_gets_a_guard_stays_until_it_is_answered_for() -> None:
    """A host that nobody was asked about has a last state, too."""
    async with routes(guard("one", "bad"), route(1, "/a"), script=refuses) as of:
        assert of.served == {"/a": ""}
        of.put(route(1, "/a", "one"))
        await of.until(lambda: "stays as it was last served" in of.said(1))
        assert of.served == {"/a": ""}
        of.put(guard("one", "2"))
        await of.until(lambda: of.served == {"/a": "2"})


@pytest.mark.parametrize("post", [["Route"], ["Route", "VirtualHost"]])
async def test_an_extension_that_fails_open_is_passed_over(post: list[str]) -> None:
    how: dict[str, Any] = ROUTE | {"hooks": {"post": post}, "failOpen": True}
    async with routes(guard("one", "bad"), route(1, "/a", "one"), script=refuses, **how) as of:
        assert of.served == {"/a": ""}


async def test_answers_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    given = (guard("one"), route(1, "/a", "one"))
    async with routes(*given, answers=path):
        pass
    async with routes(*given, script=never, answers=path) as of:
        assert of.served == {"/a": "1"}


async def test_what_a_route_must_not_say_closes_it_alone() -> None:
    async def script(_: Hook, body: bytes) -> bytes:
        made = asked(body)[0]
        made.route.cluster = "xds_cluster"
        return wire.encoded_reply("Route", {"route": (made.SerializeToString(),)})

    async with routes(guard("one"), route(1, "/a", "one"), route(2, "/b"), script=script) as of:
        assert of.served == {"/a": "500", "/b": ""}
        assert "names the cluster 'xds_cluster'" in of.said(1)


def _configuration(of: Routes) -> str:
    return of.told("ContourConfiguration", "projectcontour", "contour")


async def test_another_answer_each_time_is_told_and_not_pushed() -> None:
    number = 0

    async def script(_: Hook, body: bytes) -> bytes:
        nonlocal number
        number += 1
        made = asked(body)[0]
        made.response_headers_to_add.add().header.MergeFrom(_header("x-guard", str(number)))
        return wire.encoded_reply("Route", {"route": (made.SerializeToString(),)})

    async with routes(guard("one"), route(1, "/a", "one"), script=script) as of:
        (server,) = of.servers
        await server.stop()
        await server.start()
        await of.until(lambda: "1 equal questions differently" in _configuration(of))
        assert of.served == {"/a": "1"}
