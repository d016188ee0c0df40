"""Clusters, and their names."""

from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2

from contour.envoy import clusters, names
from contour.envoy.policy import Upstream
from dag import nodes
from tests.contour.envoy import world


def _message(node: nodes.Cluster, policy: Upstream | None = None) -> Any:
    name, body = clusters.resource(node, policy or Upstream())
    found = pb.Cluster.FromString(body)
    assert found.name == name.name
    return found


def test_a_name_is_the_service_port_and_a_hash_of_the_content() -> None:
    name = _message(world.cluster("web")).name
    assert name.startswith("shop/web/80/")
    assert len(name.rpartition("/")[2]) == 10
    assert _message(world.cluster("web")).name == name


def test_whatever_differs_gives_another_name() -> None:
    variants = [
        (world.cluster("web"), Upstream()),
        (world.cluster("web", protocol="h2c"), Upstream()),
        (world.cluster("web", balancing="Random"), Upstream()),
        (world.cluster("web", balancing="WeightedLeastRequest"), Upstream()),
        (world.cluster("web", dns=nodes.DnsAddress("a.test", 80)), Upstream()),
        (world.cluster("web", dns=nodes.DnsAddress("a.test", 81)), Upstream()),
        (world.cluster("web", dns=nodes.DnsAddress("a.test", 80)), Upstream(2, "v4")),
        (world.cluster("web"), Upstream(connect_timeout=3)),
    ]
    assert len({_message(*it).name for it in variants}) == len(variants)


def test_clusters_of_a_service_port_share_their_endpoints_and_statistics() -> None:
    one, other = _message(world.cluster()), _message(world.cluster(protocol="h2c"))
    expected = names.endpoints(world.cluster().port).name
    assert one.eds_cluster_config.service_name == expected
    assert other.eds_cluster_config.service_name == expected
    assert one.alt_stat_name == other.alt_stat_name == "shop_web_80"


def test_a_dns_cluster_holds_nothing_up_while_its_name_is_resolved() -> None:
    found = _message(world.cluster(dns=nodes.DnsAddress("out.test", 8080)))
    address = found.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address
    assert (address.address, address.port_value) == ("out.test", 8080)
    assert found.type == pb.Cluster.STRICT_DNS
    assert found.HasField("wait_for_warm_on_init")
    assert not found.wait_for_warm_on_init.value


@pytest.mark.parametrize(
    ("cluster", "place"),
    [
        (world.cluster(protocol="h2c"), "explicit_http_config"),
        (world.cluster(protocol="tls", prefers_http2=True), "auto_config"),
    ],
)
def test_what_a_backend_may_send_ahead_is_envoys_own_matter_unless_it_is_said(
    cluster: nodes.Cluster, place: str
) -> None:
    for windows in ((None, None), (65_536, 131_072)):
        every = nodes.Upstreams(stream_window=windows[0], connection_window=windows[1])
        found = http_protocol_options_pb2.HttpProtocolOptions()
        (packed,) = _message(
            cluster, Upstream(every=every)
        ).typed_extension_protocol_options.values()
        assert packed.Unpack(found)
        http2 = getattr(found, place).http2_protocol_options
        stream, connection = (
            http2.initial_stream_window_size,
            http2.initial_connection_window_size,
        )
        assert (stream.value or None, connection.value or None) == windows


def test_no_cluster_panics() -> None:
    for node in (world.cluster(), world.cluster(dns=nodes.DnsAddress("out.test", 80))):
        lb = _message(node).common_lb_config
        assert lb.HasField("healthy_panic_threshold")
        assert lb.healthy_panic_threshold.value == 0
