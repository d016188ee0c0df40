"""What the tests of gRPC clients share: two servers, on `plane.ONE` and `plane.TWO`."""

from collections.abc import Iterator

import pytest

from tests.contour.envoy.grpcclients.plane import ONE, TWO
from tests.testbed.grpcpeers import Peer, peer


@pytest.fixture(scope="package")
def servers() -> Iterator[Peer]:
    """Real gRPC servers that answer with `one` and `two`."""
    with peer() as made:
        made.serve(("one", ONE), ("two", TWO))
        yield made
