"""Listeners that an extension shapes: what is asked and served, and what is refused."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.config.core.v3 import grpc_service_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.buffer.v3 import buffer_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2
from google.protobuf.message import Message

from contour.envoy import encoding
from contour.envoy.hooks import templates
from contour.hooks import wire
from contour.hooks.wire import Hook
from tests.contour.extensioncalls import served
from tests.contour.extensioncalls.served import (
    Manager,
    Shaped,
    add_header,
    extension,
    instance,
    running,
)
from tests.testbed import world
from tests.testbed.extensionserver import never, scripted, unchanged
from tests.testbed.world import Document, World

LISTENERS: dict[str, Any] = {"hooks": {"post": ["HTTPListener"]}}
BOTH: dict[str, Any] = {"hooks": {"post": ["VirtualHost", "HTTPListener"]}}
PLAIN, SECURE, QUIC = "ingress_http", "ingress_https", "ingress_https_quic"
ADDED = "example.buffer"
SMALL = World.of(10)
WITH_TLS = World.of(10, certificates=10)
Change = Callable[[listener_pb2.Listener, Manager], None]


def asked_listener(body: bytes) -> listener_pb2.Listener:
    (found,) = wire.decoded_request("HTTPListener", body).resources["listener"]
    return listener_pb2.Listener.FromString(found)


def reply(listener: listener_pb2.Listener) -> bytes:
    encoded = listener.SerializeToString(deterministic=True)
    return wire.encoded_reply("HTTPListener", {"listener": (encoded,)})


def changing(change: Change, host: Callable[..., None] = add_header) -> Any:
    """A script that changes each listener, and each host."""

    async def script(hook: Hook, body: bytes) -> bytes:
        if hook == "VirtualHost":
            return bytes(await served.changing(host)(hook, body))
        listener = asked_listener(body)
        last = listener.filter_chains[0].filters[-1]
        manager = Manager.FromString(last.typed_config.value)
        change(listener, manager)
        last.typed_config.Pack(manager)
        return reply(listener)

    return script


def put(manager: Manager, at: int, content: Message, name: str = ADDED, **more: Any) -> None:
    """Inserts a filter."""
    added = Manager().http_filters.add(name=name, typed_config=encoding.packed(content), **more)
    every = list(manager.http_filters)
    every.insert(at, added)
    del manager.http_filters[:]
    manager.http_filters.extend(every)


def add_filter(_: listener_pb2.Listener, manager: Manager) -> None:
    put(manager, 0, buffer_pb2.Buffer())


GOOD = changing(add_filter)


async def _broken(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


def shaped(script: Any, documents: Iterable[Document] = (), **more: Any) -> Any:
    return served.shaped(script, documents=[*SMALL.documents(), *documents], **(LISTENERS | more))


def told(of: Shaped) -> str:
    return of.told("ContourConfiguration", "projectcontour", "contour")


def names(manager: Manager) -> list[str]:
    return [it.name for it in manager.http_filters]


@pytest.mark.usefixtures("unhurried")
async def test_a_listener_is_asked_about_once_and_each_of_its_chains_gets_the_answer() -> None:
    documents = WITH_TLS.documents()
    async with served.shaped(GOOD, documents=documents, **LISTENERS) as of:
        assert of.servers[0].asked == {"HTTPListener": 2}
        every = of.managers(SECURE)
        assert len(every) == 10
        for it in (*every, *of.managers(PLAIN)):
            assert names(it)[:3] == ["contour.table", "contour.admission", ADDED]
            assert names(it)[-1] == "envoy.filters.http.router"
            assert it.HasField("rds")


async def test_a_host_with_a_certificate_of_its_own_asks_nothing_and_gets_the_answer() -> None:
    async with shaped(GOOD) as of:
        asked = of.servers[0].asked.copy()
        secret, host = WITH_TLS.secret(3), WITH_TLS.root(3)
        of.take(secret, host)
        await of.until(lambda: bool(of.managers(SECURE)))
        of.servers[0].script = _broken
        asked = of.servers[0].asked.copy()
        of.take(WITH_TLS.secret(4), WITH_TLS.root(4))
        assert [ADDED in names(it) for it in of.managers(SECURE)] == [True, True]
        assert of.servers[0].asked == asked


async def test_what_is_ours_in_a_chain_is_not_shown_and_an_unmodified_one_is_as_without() -> None:
    seen: list[listener_pb2.Listener] = []

    async def look(_: Hook, body: bytes) -> bytes:
        seen.append(asked_listener(body))
        return reply(seen[-1])

    documents = list(WITH_TLS.documents())
    async with served.shaped(look, documents=documents, **LISTENERS) as of:
        for it in seen:
            (chain,) = it.filter_chains
            assert not chain.name
            assert not chain.HasField("transport_socket")
            manager = Manager.FromString(chain.filters[-1].typed_config.value)
            assert not {"contour.table", "contour.admission"} & set(names(manager))
            assert manager.WhichOneof("route_specifier") is None
        before = [of.listener(it) for it in (PLAIN, SECURE)]
        of.take(world.configuration())
        assert [of.listener(it) for it in (PLAIN, SECURE)] == before


async def test_an_added_header_of_the_listener_and_a_network_filter_are_served() -> None:
    def change(listener: listener_pb2.Listener, manager: Manager) -> None:
        listener.stat_prefix = "shaped"
        manager.via = "extension"
        chain = listener.filter_chains[0]
        (last,) = chain.filters
        first = type(last)(name="example.network")
        first.typed_config.Pack(buffer_pb2.Buffer())
        del chain.filters[:]
        chain.filters.extend((first, last))

    async def script(_: Hook, body: bytes) -> bytes:
        listener = asked_listener(body)
        last = listener.filter_chains[0].filters[-1]
        manager = Manager.FromString(last.typed_config.value)
        manager.via = "extension"
        last.typed_config.Pack(manager)
        change(listener, manager)
        return reply(listener)

    async with shaped(script) as of:
        found = of.listener(PLAIN)
        assert found is not None
        assert found.stat_prefix == "shaped"
        assert found.filter_chains[0].filters[0].name == "example.network"
        assert found.filter_chains[0].name == PLAIN
        assert of.managers(PLAIN)[0].via == "extension"


@pytest.mark.usefixtures("unhurried")
async def test_http3_has_a_question_of_its_own_so_that_no_guard_is_missing_there() -> None:
    documents = WITH_TLS.documents()
    async with scripted(GOOD) as server:
        made = instance(extension(server, **LISTENERS))
        async with running(made, server) as of:
            entry = extension(server, **LISTENERS)
            listener = {"listener": {"http3": True}}
            of.take(world.configuration(extensions=[entry], envoy=listener), *documents)
            await made.asker.begin()
            assert server.asked == {"HTTPListener": 3}
            assert all(ADDED in names(it) for it in of.managers(QUIC))
            assert len(of.managers(QUIC)) == 10
            server.script = _broken
            of.take(WITH_TLS.secret(4), WITH_TLS.root(4))
            assert of.listener(QUIC) is not None


@pytest.mark.parametrize("script", [_broken, never])
async def test_a_listener_that_was_never_answered_for_is_not_opened_and_told(script: Any) -> None:
    documents = list(WITH_TLS.documents())
    how: dict[str, Any] = LISTENERS | {"timeout": "100ms", "retries": 0}
    async with served.shaped(script, documents=documents, **how) as of:
        assert of.listener(PLAIN) is None
        assert of.listener(SECURE) is None
        assert f"listener {PLAIN}: extension shaper does not answer" in told(of)
        assert "until then it is not opened" in told(of)
        of.servers[0].script = GOOD
        await of.until(lambda: len(of.managers(SECURE)) == 10)
        await of.until(lambda: not told(of))


async def test_fail_open_opens_it_as_it_is() -> None:
    async with shaped(_broken, failOpen=True) as of:
        assert ADDED not in names(of.managers(PLAIN)[0])
        assert "served without these changes" in told(of)


async def test_an_edit_that_is_not_answered_for_leaves_the_listener_as_it_was() -> None:
    async with shaped(GOOD) as of:
        before = of.listener(PLAIN)
        of.servers[0].script = _broken
        settings = {"listener": {"serverHeaderTransformation": "pass_through"}}
        entry = extension(of.servers[0], **LISTENERS)
        edited = world.configuration(extensions=[entry], envoy=settings)
        of.take(edited)
        await of.until(lambda: "stays as it was last served" in told(of))
        assert of.listener(PLAIN) == before
        of.servers[0].script = GOOD
        passed = Manager.PASS_THROUGH
        await of.until(lambda: of.managers(PLAIN)[0].server_header_transformation == passed)
        assert ADDED in names(of.managers(PLAIN)[0])


async def test_an_equal_answer_changes_nothing_and_another_counts_when_given_twice() -> None:
    async with shaped(GOOD) as of:
        (server,) = of.servers
        before, asked = of.listener(PLAIN), server.asked["HTTPListener"]
        await server.stop()
        await server.start()
        await of.until(lambda: server.asked["HTTPListener"] > asked)
        assert of.listener(PLAIN) == before
        await server.stop()
        server.script = unchanged
        await server.start()
        await of.until(lambda: ADDED not in names(of.managers(PLAIN)[0]))


async def test_after_a_restart_old_answers_serve_while_the_server_is_away(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    async with shaped(GOOD, answers=answers) as of:
        (server,) = of.servers
        before = of.listener(PLAIN)
        entry = extension(server, **LISTENERS)
    made = instance(entry, answers=answers)
    async with running(made, server) as of:
        of.take(*SMALL.documents())
        await made.asker.begin()
        assert of.listener(PLAIN) == before


def _address(listener: listener_pb2.Listener, _: Manager) -> None:
    listener.address.socket_address.port_value = 1


def _second_chain(listener: listener_pb2.Listener, _: Manager) -> None:
    listener.filter_chains.add()


def _matched(listener: listener_pb2.Listener, _: Manager) -> None:
    listener.filter_chains[0].filter_chain_match.server_names.append("a.example")


def _routes(_: listener_pb2.Listener, manager: Manager) -> None:
    manager.rds.route_config_name = "mine"


def _left_out(_: listener_pb2.Listener, manager: Manager) -> None:
    del manager.http_filters[2]


def _changed(_: listener_pb2.Listener, manager: Manager) -> None:
    manager.http_filters[0].typed_config.Pack(buffer_pb2.Buffer())


def _moved(_: listener_pb2.Listener, manager: Manager) -> None:
    first, second, *rest = list(manager.http_filters)
    del manager.http_filters[:]
    manager.http_filters.extend((second, first, *rest))


def _behind(_: listener_pb2.Listener, manager: Manager) -> None:
    put(manager, len(manager.http_filters), buffer_pb2.Buffer())


def _ours(_: listener_pb2.Listener, manager: Manager) -> None:
    put(manager, 0, buffer_pb2.Buffer(), "contour.table")


def _elsewhere(_: listener_pb2.Listener, manager: Manager) -> None:
    put(manager, 0, buffer_pb2.Buffer())
    manager.http_filters[0].config_discovery.type_urls.append("a")


def _upgrades(_: listener_pb2.Listener, manager: Manager) -> None:
    upgrade = manager.upgrade_configs.add(upgrade_type="websocket")
    upgrade.filters.extend(manager.http_filters[-1:])


def _cluster(_: listener_pb2.Listener, manager: Manager) -> None:
    service = grpc_service_pb2.GrpcService()
    service.envoy_grpc.cluster_name = "nobody"
    put(manager, 0, ext_authz_pb2.ExtAuthz(grpc_service=service))


def _header(_: listener_pb2.Listener, manager: Manager) -> None:
    put(manager, 0, route_components_pb2.Route(request_headers_to_remove=["x-contour-routes"]))


def _large(_: listener_pb2.Listener, manager: Manager) -> None:
    manager.via = "x" * templates.MOST_BYTES


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_address, "changes address"),
        (_second_chain, "has 2 filter chains"),
        (_matched, "sets filter_chain_match of the filter chain"),
        (_routes, "sets rds"),
        (_left_out, "leaves out the filter"),
        (_changed, "changes, moves or repeats the filter"),
        (_moved, "changes, moves or repeats the filter"),
        (_behind, "has a filter behind envoy.filters.http.router"),
        (_ours, "adds the filter contour.table, whose name"),
        (_elsewhere, "without its configuration"),
        (_upgrades, "gives upgrades to 'websocket' filters"),
        (_cluster, "names the cluster 'nobody', which the listener does not have, and"),
        (_header, "names the header x-contour-routes"),
        (_large, "are allowed"),
    ],
)
async def test_an_answer_that_says_too_much_is_refused_as_a_whole(
    change: Change, words: str
) -> None:
    async with shaped(changing(change)) as of:
        assert of.listener(PLAIN) is None
        assert words in told(of)
        of.servers[0].script = GOOD
        await of.servers[0].stop()
        await of.servers[0].start()
        await of.until(lambda: of.listener(PLAIN) is not None)
        assert not told(of)


async def test_a_refused_answer_leaves_what_was_served() -> None:
    async with shaped(GOOD) as of:
        before = of.listener(PLAIN)
        of.servers[0].script = changing(_cluster)
        await of.servers[0].stop()
        await of.servers[0].start()
        await of.until(lambda: "names the cluster 'nobody'" in told(of))
        assert of.listener(PLAIN) == before


def _nothing(_: listener_pb2.Listener, __: Manager) -> None:
    """Changes nothing."""


def _configured(host: Any) -> None:
    host.typed_per_filter_config[ADDED].Pack(buffer_pb2.BufferPerRoute(disabled=True))


async def test_hosts_may_configure_a_filter_that_their_listener_has_and_no_other() -> None:
    async with served.shaped(changing(add_filter, _configured), **BOTH) as of:
        assert of.paths(0) == ["/api/v1", "/api/", "/"]
        of.servers[0].script = changing(_nothing, _configured)
        await of.servers[0].stop()
        await of.servers[0].start()
        await of.until(lambda: of.paths(0) == ["500", "500", "500"])


async def test_a_host_that_waits_is_closed_when_a_filter_goes_that_it_needs() -> None:
    """It would be served without what the filter guards."""
    async with served.shaped(changing(add_filter, _configured), **BOTH) as of:
        before = of.paths(3)

        async def fails(hook: Hook, body: bytes) -> Any:
            if hook == "VirtualHost":
                return await _broken(hook, body)
            return await changing(_nothing)(hook, body)

        (server,) = of.servers
        server.script = fails
        of.take(SMALL.root(3, "/new"))
        subject = ("HTTPProxy", world.namespace(3), "root-3")
        await of.until(lambda: "stays as it was last served" in of.told(*subject))
        assert of.paths(3) == before
        await server.stop()
        await server.start()
        await of.until(lambda: of.paths(3) == ["500", "500", "500"])
        await of.until(lambda: "which no listener has" in of.told(*subject))


def _idle(_: listener_pb2.Listener, manager: Manager) -> None:
    put(manager, 0, buffer_pb2.Buffer(), disabled=True)


@pytest.mark.parametrize("routing", ["Shards", "Single"])
async def test_a_filter_that_is_to_be_enabled_by_routes_runs_in_the_single_table_alone(
    routing: str,
) -> None:
    async with scripted(changing(_idle, _configured)) as server:
        settings = {"listener": {"routing": routing}}
        made = instance(extension(server, **BOTH), envoy=settings)
        async with running(made, server) as of:
            of.take(*SMALL.documents())
            await made.asker.begin()
            is_single = routing == "Single"
            assert (ADDED in names(of.managers(PLAIN)[0])) is is_single
            assert (of.paths(0) == ["500", "500", "500"]) is not is_single
            assert ("never run" in told(of)) is not is_single
