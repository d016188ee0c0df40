"""Which `Host` headers are those of people of this machine."""

import pytest

from contour.pages import rebinding


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1:6060", True),
        ("127.0.0.1", True),
        ("localhost:6060", True),
        ("LOCALHOST", True),
        ("[::1]:6060", True),
        ("[::1]", True),
        ("10.0.0.7:6060", True),
        ("rebound.example.com:6060", False),
        ("rebound.example.com", False),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
        ("[::1]evil.example.com", False),
        ("[localhost", True),
        ("", False),
        ("0x7f000001", False),
    ],
)
def test_only_addresses_and_localhost_are_local(host: str, is_local: bool) -> None:
    assert rebinding.is_local(host) is is_local
