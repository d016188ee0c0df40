"""Filter chains: how TLS is terminated for streams, and how long their connections live."""

import pytest
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2

from contour.envoy import chains, names, streams
from contour.envoy.policy import Downstream
from crds.records import replace
from dag import nodes
from tests.contour.envoy import world


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ((), []),
        (nodes.NOTHING_OFFERED, []),
        (("HTTP/1.1",), ["http/1.1"]),
        (("HTTP/1.1", "HTTP/2"), ["h2", "http/1.1"]),
    ],
)
def test_a_stream_offers_the_protocols_of_its_policy_alone(
    versions: tuple[str, ...], expected: list[str]
) -> None:
    body = chains.stream("a", world.tls(http_versions=versions), (), Downstream())
    (chain,) = listener_pb2.Listener.FromString(body).filter_chains
    told = tls_pb2.DownstreamTlsContext()
    chain.transport_socket.typed_config.Unpack(told)
    assert list(told.common_tls_context.alpn_protocols) == expected


@pytest.mark.parametrize(
    ("versions", "expected"), [((), ["h2", "http/1.1"]), (nodes.NOTHING_OFFERED, [])]
)
def test_requests_are_offered_the_protocols_of_the_settings_or_none(
    versions: tuple[str, ...], expected: list[str]
) -> None:
    told = chains.termination(world.tls(http_versions=versions), Downstream())
    assert list(told.common_tls_context.alpn_protocols) == expected


PLAIN = world.cluster()
SHARED = world.cluster(
    limits=nodes.CircuitBreakers(connections=7),
    members=(nodes.Member(PLAIN.port, weight=2), nodes.Member(PLAIN.port, is_fallback=True)),
)
INSIDE = nodes.IpFilter("ALLOW", (nodes.IpRange("10.0.0.0/8"),))


def _stream(
    cluster: nodes.Cluster | None, guards: nodes.StreamGuards | None = None
) -> nodes.Stream:
    return nodes.Stream((nodes.WeightedCluster(cluster),), guards=guards)


@pytest.mark.parametrize(
    ("tls", "stream", "name"),
    [
        (None, _stream(None), "passthrough/e8094cae20"),
        (None, _stream(PLAIN), "passthrough/3779012888"),
        (None, _stream(SHARED, nodes.StreamGuards(INSIDE)), "passthrough/7dd7e5d7fe"),
        (world.tls(), _stream(PLAIN), "shop/cert/stream/6bc752ec53"),
    ],
)
def test_an_upgrade_leaves_the_names_of_streams_as_they_were(
    tls: nodes.Tls | None, stream: nodes.Stream, name: str
) -> None:
    """Envoy drains the connections of a chain with another name. A field that is new in a node is
    one of `names._LATER`."""
    assert names.chain(tls, stream) == name


def test_streams_that_differ_in_a_newer_field_have_different_names() -> None:
    every = [_stream(replace(PLAIN, dropped=it)) for it in (None, 0, 1)]
    every += [replace(every[0], longest=1.0), replace(every[0], handshake=1.0)]
    assert len({names.chain(None, it) for it in every}) == 5


@pytest.mark.parametrize(("handshake", "expected"), [(None, 10.0), (0.0, 0.0), (3.0, 3.0)])
def test_the_handshake_of_a_stream_may_take_as_long_as_its_policy_says(
    handshake: float | None, expected: float
) -> None:
    body = chains.stream("a", world.tls(), (), Downstream(), handshake)
    (chain,) = listener_pb2.Listener.FromString(body).filter_chains
    assert chain.transport_socket_connect_timeout.ToTimedelta().total_seconds() == expected


@pytest.mark.parametrize("longest", [None, 3.0])
def test_a_connection_of_a_stream_lives_as_long_as_its_policy_says(longest: float | None) -> None:
    made = streams.tcp("a", replace(_stream(None), longest=longest), {}, 1.0)
    assert made.HasField("max_downstream_connection_duration") == (longest is not None)
    assert made.max_downstream_connection_duration.ToTimedelta().total_seconds() == (longest or 0)
