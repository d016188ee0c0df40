"""Where the dashboard is served, and what is told if it is not."""

import pytest

from contour.dashboard import listening
from contour.instance import Instance
from contour.xds.server import Server


@pytest.mark.parametrize("port", [None, 6061])
async def test_where_there_is_no_loopback_address_that_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, port: int | None
) -> None:
    monkeypatch.setattr(listening, "ADDRESS", "192.0.2.1")  # which no machine has (RFC 5737)
    async with listening.served(Instance(Server(())), port) as url:
        assert url == ""
    (warning,) = caplog.messages
    assert warning.startswith("no dashboard: cannot listen on http://192.0.2.1:")
