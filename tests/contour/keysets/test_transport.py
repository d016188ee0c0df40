"""How servers of key sets are verified."""

from contour.keysets import transport
from dag import nodes
from tests.testbed import pairs


def test_the_comments_of_authorities_may_be_in_any_encoding() -> None:
    made = transport.context(nodes.UpstreamTls(), b"# caf\xe9\n" + pairs.pair()[0])
    assert not isinstance(made, bool)
    assert made.cert_store_stats()["x509"] == 1
