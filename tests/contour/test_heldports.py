"""Which Gateway has which port of this machine, whichever come and go."""

import pytest
import yaml

from contour.controller import Controller
from contour.envoy import http3
from crds.meta import ObjectRef
from dag import nodes
from dag.ports import HostPorts
from dag.statuses import GatewayStatus
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
)
from tests.testbed import pairs, world
from tests.testbed.world import Document

EACH = configuration("gateway: {mode: PerGateway}")


def controller(*texts: str, overrides: tuple[tuple[int, int], ...] = ()) -> Controller:
    it = Controller(lambda _, __: None)
    it.use_host_ports(HostPorts("127.0.0.1", overrides))
    put(it, EACH, gateway_class(), *texts)
    return it


def put(it: Controller, *texts: str) -> None:
    it.take(world.batch(*documents(texts)))


def gone(it: Controller, *texts: str) -> None:
    it.take(world.batch(gone=documents(texts)))


def documents(texts: tuple[str, ...]) -> list[Document]:
    return [it for it in yaml.load_all("".join(texts), yaml.CSafeLoader) if it]


def bound(it: Controller, *names: str) -> list[int]:
    """What the listeners of Gateways are bound to, and nothing that is wrong with rules."""
    assert not it.engine.failures
    return [one.bind_port for name in names for one in it.listeners(f"default/{name}")]


def test_gateways_with_one_port_have_ports_of_their_own() -> None:
    it = controller(gateway("b"), gateway("a", http(), http("more", port=81)))
    # The shared Envoy has the usual ones of Ingress and HTTPProxy.
    assert [one.bind_port for one in it.listeners()] == [8080, 8443]
    assert bound(it, "a", "b") == [8081, 8082, 8083]


def test_a_gateway_that_comes_or_goes_moves_no_other() -> None:
    it = controller(gateway("b", http(port=9000)))
    put(it, gateway("a", http(port=9000)))
    assert bound(it, "b", "a") == [9000, 9001]
    gone(it, gateway("b", http(port=9000)))
    assert bound(it, "b", "a") == [9001]
    put(it, gateway("c", http(port=9000)))
    assert bound(it, "a", "c") == [9001, 9000]
    put(it, gateway("a", http(port=9002)))
    assert bound(it, "a", "c") == [9002, 9000]


@pytest.mark.parametrize(("protocol", "ports"), [("TCP", [9000, 9001]), ("UDP", [9000, 9000])])
def test_ports_of_udp_are_others(protocol: str, ports: list[int]) -> None:
    other = listener("x", 9000, protocol)
    it = controller(gateway("a", listener("x", 9000, "TCP")), gateway("b", other))
    assert bound(it, "a", "b") == ports


def test_the_first_gateway_gets_the_port_that_the_command_line_names() -> None:
    it = controller(gateway("a"), gateway("b"), overrides=((80, 7000),))
    # The shared Envoy has it: where there is none, the first Gateway does.
    assert [*(one.bind_port for one in it.listeners()), *bound(it, "a", "b")] == [
        *(7000, 8443),
        *(7001, 7002),
    ]
    put(it, EACH.replace("mode: PerGateway", "mode: PerGateway, only: true"))
    put(it, gateway("c"))
    assert bound(it, "a", "b", "c") == [7001, 7002, 7000]


def test_a_port_for_datagrams_of_one_gateway_has_no_http3_of_another() -> None:
    only = "gateway: {mode: PerGateway, only: true}"
    it = controller(gateway("web", https(rest=host("a.com"))), pairs.secret("cert"))
    put(it, configuration(f"{only}, envoy: {{listener: {{http3: true}}}}"))
    assert served(it) == (True, "")
    put(it, gateway("dns", listener("x", 443, "UDP")))
    assert bound(it, "web", "dns") == [8444, 8443]
    assert served(it) == (True, "")
    put(it, gateway("other", listener("x", 8444, "UDP")))
    told = "HTTP/3 is not served on port 443: a Gateway has its UDP port for a UDP listener"
    assert served(it) == (False, told)
    gone(it, gateway("other"))
    assert served(it) == (True, "")


def served(it: Controller) -> tuple[bool, str]:
    """Whether the Gateway `web` has HTTP/3, and what is told of its fleet."""
    https_ = nodes.ListenerKey("default/web", "ingress_https")
    status = it.board.told[ObjectRef("Gateway", "default", "web")]
    assert isinstance(status, GatewayStatus)
    (message,) = [one.message for one in status.conditions if one.type == "Programmed"]
    quic = it.engine.answer(http3.listener, https_)
    return quic is not None, message.partition("; ")[2]


def test_a_port_for_datagrams_has_no_http3_of_ingress_and_httpproxy() -> None:
    it = controller(gateway("dns", listener("x", 8443, "UDP")))
    put(it, configuration("gateway: {mode: PerGateway}, envoy: {listener: {http3: true}}"))
    (row,) = [one for one in it.board.rows() if one.subject.kind == "ContourConfiguration"]
    assert "spec.envoy.listener.http3: HTTP/3 is not served on port 443" in row.reasons[0]
