"""Filter chains: how TLS is terminated for streams."""

import pytest
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2

from contour.envoy import chains
from contour.envoy.policy import Downstream
from tests.contour.envoy import world


@pytest.mark.parametrize(
    ("versions", "expected"),
    [((), []), (("HTTP/1.1",), ["http/1.1"]), (("HTTP/1.1", "HTTP/2"), ["h2", "http/1.1"])],
)
def test_a_stream_offers_the_protocols_of_its_policy_alone(
    versions: tuple[str, ...], expected: list[str]
) -> None:
    body = chains.stream("a", world.tls(http_versions=versions), (), Downstream())
    (chain,) = listener_pb2.Listener.FromString(body).filter_chains
    told = tls_pb2.DownstreamTlsContext()
    chain.transport_socket.typed_config.Unpack(told)
    assert list(told.common_tls_context.alpn_protocols) == expected
