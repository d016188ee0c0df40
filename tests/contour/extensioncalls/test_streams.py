"""Streams to clusters that an extension is asked about (the hook Translation): what has been served
stays until it has answered."""

import copy
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from google.protobuf import wrappers_pb2

from contour.envoy.hooks import questions
from contour.hooks.wire import Hook
from contour.xds import resources
from dag import hookservers
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.extensioncalls.served import Shaped, extension, instance, running
from tests.contour.extensioncalls.test_translation import ALONE, changing, clusters, slow
from tests.testbed import world
from tests.testbed.extensionserver import Scripted, scripted
from tests.testbed.world import Document, World

SMALL = World.of(2)
HOST = "stream.example.com"
NAMESPACE = world.namespace(0)
PORT = 9000
GOOD = changing(slow)


async def _broken(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


def _other(number: int) -> list[Document]:
    """Another Service of the namespace."""
    service, endpoints = copy.deepcopy([SMALL.service(0), SMALL.slice(0)])
    name = service["metadata"]["name"] = f"other-{number}"
    endpoints["metadata"] |= {"name": name, "labels": {"kubernetes.io/service-name": name}}
    return [service, endpoints]


def _proxy(number: int) -> Document:
    """A host behind TLS whose bytes go to another Service for each number."""
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"name": "stream", "namespace": NAMESPACE},
        "spec": {
            "virtualhost": {"fqdn": HOST, "tls": {"passthrough": True}},
            "tcpproxy": {"services": [{"name": f"other-{number}", "port": 80}]},
        },
    }


def _tcp_route(number: int) -> Document:
    """The same for a listener of a Gateway."""
    reference = {"name": f"other-{number}", "port": 80}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1alpha2",
        "kind": "TCPRoute",
        "metadata": {"name": "stream", "namespace": NAMESPACE},
        "spec": {"parentRefs": [{"name": "gateway"}], "rules": [{"backendRefs": [reference]}]},
    }


def _gateway() -> list[Document]:
    gateway_class, gateway = world.gateway()
    gateway["spec"]["listeners"] = [{"name": "tcp", "protocol": "TCP", "port": PORT}]
    return [gateway_class, gateway]


def _of_proxy(of: Shaped) -> str:
    """The cluster to which connections for the host go."""
    listener = of.listener("ingress_https")
    assert listener is not None
    action = listener.filter_chain_matcher.matcher_tree.exact_match_map.map[HOST].action
    name = wrappers_pb2.StringValue.FromString(action.typed_config.value).value
    (chain,) = (it for it in listener.filter_chains if it.name == name)
    return _cluster(chain)


def _of_route(of: Shaped) -> str:
    """The cluster to which connections to the listener go."""
    store = of.instance.server.fleet(DEFAULT_FLEET).store.types
    (name,) = (it for it in store[resources.LISTENER] if str(PORT) in it or "tcp" in it)
    listener = of.listener(name)
    assert listener is not None
    return _cluster(listener.filter_chains[0])


def _cluster(chain: Any) -> str:
    return tcp_proxy_pb2.TcpProxy.FromString(chain.filters[-1].typed_config.value).cluster


def _said(of: Shaped) -> str:
    return "; ".join(
        text
        for rows in of.instance.controller.engine.rows(hookservers.UNFINISHED)
        for text in rows[1]
    )


Stream = Callable[[int], Document]


@pytest.mark.parametrize(
    ("stream", "base", "leads", "where"),
    [
        (_proxy, [], _of_proxy, f"stream of host {HOST}: "),
        (_tcp_route, _gateway(), _of_route, "stream of listener "),
    ],
)
async def test_a_stream_stays_where_it_was_until_its_new_cluster_is_answered_for(
    stream: Stream, base: list[Document], leads: Callable[[Shaped], str], where: str
) -> None:
    async with scripted(GOOD) as server:
        of = _begun(server, base, stream(1))
        async with running(of.instance, server):
            await of.instance.asker.begin()
            before = leads(of)
            assert before in clusters(of)
            server.script = _broken
            of.take(stream(2))
            await of.until(lambda: "stays as it was last served" in _said(of))
            assert where in _said(of)
            assert (leads(of), before in clusters(of)) == (before, True)
            server.script = GOOD
            await server.stop()
            await server.start()
            await of.until(lambda: leads(of) != before and leads(of) in clusters(of))
            await of.until(lambda: not _said(of))
            await of.until(lambda: before not in clusters(of))
            of.take(gone=[stream(2), *base])
            rows = of.instance.controller.engine.rows(questions.GOOD_STREAMS)
            assert not list(rows), "nothing is kept of what is gone"


async def test_a_stream_that_was_never_served_has_its_connections_closed() -> None:
    async with scripted(_broken) as server:
        of = _begun(server, [], _proxy(1))
        async with running(of.instance, server):
            await of.instance.asker.begin()
            assert "its connections are closed" in _said(of)
            assert _of_proxy(of) not in clusters(of)


def _begun(server: Scripted, base: list[Document], *more: Document) -> Shaped:
    """An instance that asks nothing yet."""
    gateway = {"controllerName": "projectcontour.io/gateway-controller"}
    made = instance(extension(server, **ALONE), gateway=gateway)
    of = Shaped(made, (server,))
    of.take(*_other(1), *_other(2), *base, *more)
    return of
