"""The way to the control plane: found again after it was away."""

import pytest

from contour import bootstrap
from contour.host import state
from contour.xds.server import Server
from tests.contour.bootstrap.conftest import gauge, live, serving, settings, until

pytestmark = pytest.mark.envoy

_CONNECTED = "control_plane.connected_state"


async def test_an_envoy_finds_a_control_plane_that_was_away(
    directory: state.StateDirectory,
) -> None:
    address = f"unix:{directory.socket('xds.sock')}"
    first = Server((address,))
    text = bootstrap.text(settings(directory))
    async with serving(first), live(directory, text) as session:
        assert await gauge(session, _CONNECTED) == 1
        await first.stop()
        await until(session, _CONNECTED, 0)
        async with serving(Server((address,))):
            await until(session, _CONNECTED, 1)
