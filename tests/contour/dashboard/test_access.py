"""Other web sites see nothing: the name in `Host` decides, and nothing of elsewhere is allowed."""

import pytest

from contour.dashboard import access
from tests.contour.dashboard import serving


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
    assert access.is_local(host) is is_local


async def test_a_name_that_was_rebound_is_refused_on_every_page() -> None:
    async with serving.served(*serving.shop()) as it:
        for page in ("", "/objects", "/changes", "/script.js"):
            headers = {"Host": "rebound.example.com"}
            async with it.session.get(f"{it.url}{page}", headers=headers) as answer:
                assert answer.status == 421
                assert "localhost" in await answer.text()


async def test_every_answer_forbids_what_comes_from_elsewhere() -> None:
    async with serving.served(*serving.shop()) as it:
        for page in ("", "/objects", "/envoys", "/explain", "/host", "/style.css", "/changes"):
            async with it.session.get(f"{it.url}{page}") as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'self'")
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Cache-Control"] == "no-store"


async def test_it_is_read_only() -> None:
    async with serving.served() as it, it.session.post(it.url) as answer:
        assert answer.status == 405
