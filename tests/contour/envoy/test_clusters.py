"""Clusters, and their names."""

from dataclasses import replace
from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.extensions.filters.http.credential_injector.v3 import credential_injector_pb2
from envoy.extensions.http.injected_credentials.generic.v3 import generic_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import duration_pb2

from contour.envoy import clusters, names
from contour.envoy.policy import Upstream
from contour.xds import wire
from crds.meta import ObjectRef
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


@pytest.mark.parametrize("protocol", ["http/1.1", "h2c"])
def test_a_credential_is_asked_for_by_name_before_the_request_is_sent(protocol: Any) -> None:
    injected = nodes.Injection(ObjectRef("HTTPRouteFilter", "a", "b"), "x-key", overwrites=True)
    found = _options(world.cluster(protocol=protocol, injection=injected))
    assert [it.name for it in found.http_filters] == [
        "envoy.filters.http.credential_injector",
        "envoy.filters.http.upstream_codec",
    ]
    filter_ = credential_injector_pb2.CredentialInjector()
    assert found.http_filters[0].typed_config.Unpack(filter_)
    assert filter_.overwrite
    assert not filter_.allow_request_without_credential
    source = generic_pb2.Generic()
    assert filter_.credential.typed_config.Unpack(source)
    assert source.header == "x-key"
    assert source.credential.name == "credential/a/b"
    assert source.credential.sds_config.HasField("ads")
    assert found.explicit_http_config.WhichOneof("protocol_config")


def test_no_cluster_panics() -> None:
    for node in (world.cluster(), world.cluster(dns=nodes.DnsAddress("out.test", 80))):
        lb = _message(node).common_lb_config
        assert lb.HasField("healthy_panic_threshold")
        assert lb.healthy_panic_threshold.value == 0


_EVERYTHING = nodes.Connections(
    keepalive=nodes.Keepalive(3, 90, 4),
    buffer_limit=7,
    max_requests=8,
    max_age=60.0,
    max_stream=5.0,
    preconnect=nodes.Preconnect(1.5, 2.0),
    proxy_protocol="V2",
    http2=nodes.Http2(65536, 65537, 5, True, nodes.Pings(10.0)),
    dns=nodes.DnsSettings(9.0, True, "IPv4"),
)


def test_connections_are_as_a_policy_says() -> None:
    """What no request shows: probes, buffers, windows, and when a name is resolved again."""
    address = nodes.DnsAddress("out.test", 8080)
    found = _message(world.cluster(protocol="h2c", dns=address, connections=_EVERYTHING))
    probes = found.upstream_connection_options.tcp_keepalive
    assert probes.keepalive_probes.value == 3
    assert (probes.keepalive_time.value, probes.keepalive_interval.value) == (90, 4)
    assert found.per_connection_buffer_limit_bytes.value == 7
    ahead = found.preconnect_policy
    ratios = (ahead.per_upstream_preconnect_ratio.value, ahead.predictive_preconnect_ratio.value)
    assert ratios == (1.5, 2.0)
    assert (found.dns_refresh_rate.seconds, found.respect_dns_ttl) == (9, True)
    assert found.dns_lookup_family == pb.Cluster.V4_ONLY
    assert found.transport_socket.name == "envoy.transport_sockets.upstream_proxy_protocol"


def test_http_is_spoken_as_a_policy_says() -> None:
    found = _options(world.cluster(protocol="h2c", connections=_EVERYTHING))
    common = found.common_http_protocol_options
    assert common.max_requests_per_connection.value == 8
    assert (common.max_connection_duration.seconds, common.max_stream_duration.seconds) == (60, 5)
    http2 = found.explicit_http_config.http2_protocol_options
    assert http2.initial_stream_window_size.value == 65536
    assert http2.initial_connection_window_size.value == 65537
    assert http2.max_concurrent_streams.value == 5
    assert http2.override_stream_error_on_invalid_http_message.value
    assert http2.connection_keepalive.interval.seconds == 10


@pytest.mark.parametrize("limits", [None, nodes.CircuitBreakers(requests=7)])
def test_a_budget_for_retries_stands_beside_the_limits(
    limits: nodes.CircuitBreakers | None,
) -> None:
    budget = nodes.RetryBudget(12.5, 90.5, 4)
    (found,) = _message(
        world.cluster(limits=limits, retry_budget=budget)
    ).circuit_breakers.thresholds
    assert found.track_remaining
    assert found.max_requests.value == (7 if limits else 0)
    assert found.retry_budget.budget_percent.value == 12.5
    assert found.retry_budget.min_retry_concurrency.value == 4
    interval = wire.field(
        3, duration_pb2.Duration(seconds=90, nanos=500_000_000).SerializeToString()
    )
    assert interval in found.retry_budget.SerializeToString()


def test_the_health_of_a_name_is_asked_for_on_a_port_of_its_own() -> None:
    node = world.cluster(
        dns=nodes.DnsAddress("b.com", 443), health_check=nodes.HealthCheck(), health_port=81
    )
    (locality,) = _message(node).load_assignment.endpoints
    (found,) = (it.endpoint for it in locality.lb_endpoints)
    assert found.address.socket_address.port_value == 443
    assert found.health_check_config.port_value == 81


def test_a_budget_without_an_interval_says_none() -> None:
    node = world.cluster(retry_budget=nodes.RetryBudget(0.0, always=0))
    (found,) = _message(node).circuit_breakers.thresholds
    said = {it.name for it, _ in found.retry_budget.ListFields()}
    assert said == {"budget_percent", "min_retry_concurrency"}
    assert found.retry_budget.min_retry_concurrency.value == 0


def test_limits_of_the_settings_hold_beside_a_budget() -> None:
    every = nodes.Upstreams(limits=nodes.CircuitBreakers(requests=5))
    node = world.cluster(retry_budget=nodes.RetryBudget(1.0))
    (found,) = _message(node, Upstream(every=every)).circuit_breakers.thresholds
    assert (found.max_requests.value, found.retry_budget.budget_percent.value) == (5, 1.0)


def test_a_limit_of_a_cluster_replaces_that_one_of_the_settings() -> None:
    every = nodes.Upstreams(limits=nodes.CircuitBreakers(5, retries=6, connections_per_host=7))
    node = world.cluster(limits=nodes.CircuitBreakers(requests=8, retries=9))
    breakers = _message(node, Upstream(every=every)).circuit_breakers
    (found,), (of_host,) = breakers.thresholds, breakers.per_host_thresholds
    limits = (found.max_connections.value, found.max_requests.value, found.max_retries.value)
    assert limits == (5, 8, 9)
    assert not found.HasField("max_pending_requests")
    assert of_host.max_connections.value == 7


def _options(node: nodes.Cluster) -> Any:
    """The options of HTTP."""
    packed = _message(node).typed_extension_protocol_options
    return http_protocol_options_pb2.HttpProtocolOptions.FromString(
        next(iter(packed.values())).value
    )


@pytest.mark.parametrize(
    ("node", "place"),
    [
        (world.cluster(connections=nodes.Connections(max_requests=3)), "explicit_http_config"),
        (world.cluster(protocol="tls", prefers_http2=True), "auto_config"),
        (
            world.cluster(connections=nodes.Connections(follows_client=True)),
            "use_downstream_protocol_config",
        ),
    ],
)
def test_the_case_of_headers_is_kept_however_http_1_is_chosen(
    node: nodes.Cluster, place: str
) -> None:
    assert not _keeps_case(node, place)
    connections = replace(node.connections or nodes.Connections(), keeps_case=True)
    assert _keeps_case(replace(node, connections=connections), place)


def _keeps_case(node: nodes.Cluster, place: str) -> bool:
    http1 = getattr(_options(node), place).http_protocol_options
    return bool(http1.header_key_format.HasField("stateful_formatter"))


@pytest.mark.parametrize(
    ("node", "offered"),
    [
        (world.cluster(tls=nodes.UpstreamTls()), []),
        (world.cluster(tls=nodes.UpstreamTls(offers=("h2",))), ["h2"]),
        (world.cluster(protocol="h2", tls=nodes.UpstreamTls()), ["h2"]),
    ],
)
def test_what_is_offered_by_alpn(node: nodes.Cluster, offered: list[str]) -> None:
    told = tls_pb2.UpstreamTlsContext()
    _message(node).transport_socket.typed_config.Unpack(told)
    assert list(told.common_tls_context.alpn_protocols) == offered
