"""Which hosts are asked by HTTP/3."""

from dataclasses import replace

import pytest

from crds.meta import NamespacedName
from dag import nodes

TLS = nodes.Tls(NamespacedName("shop", "certificate"))
CLIENTS = nodes.ClientValidation(trust=None)


@pytest.mark.parametrize(
    ("found", "can"),
    [
        (nodes.SecureHost(TLS), True),
        (nodes.SecureHost(replace(TLS, minimum="1.3")), True),
        (nodes.SecureHost(replace(TLS, maximum="1.2")), False),
        (nodes.SecureHost(replace(TLS, clients=CLIENTS)), False),
        (nodes.SecureHost(TLS, stream=nodes.Stream(())), False),
        (nodes.SecureHost(None, stream=nodes.Stream(())), False),
    ],
)
def test_quic_serves_what_it_can_serve_on_the_same_terms(
    found: nodes.SecureHost, can: bool
) -> None:
    assert found.can_speak_http3 is can
