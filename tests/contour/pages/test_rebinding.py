"""Which `Host` headers are those of people of this machine."""

import pytest

from contour.pages import rebinding

SITE = {"Host": "127.0.0.1:6060"}


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


@pytest.mark.parametrize(
    ("headers", "is_foreign"),
    [
        ({}, False),  # curl, `contour status`
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, False),  # typed
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, False),  # our script
        ({"Origin": "http://127.0.0.1:6060"}, False),
        (
            {
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "document",
            },
            False,  # a link
        ),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, True),  # a picture
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, True),  # another port
        (
            {
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "iframe",
            },
            True,
        ),
        ({"Origin": "https://evil.example.com"}, True),  # a form, an old browser
        ({"Origin": "null"}, True),
        ({"Origin": "http://[x"}, True),
        ({"Origin": "http://127.0.0.1:3000"}, True),
    ],
)
def test_what_another_site_makes_a_browser_send_is_known(
    headers: dict[str, str], is_foreign: bool
) -> None:
    assert rebinding.is_of_other_site({**SITE, **headers}) is is_foreign
