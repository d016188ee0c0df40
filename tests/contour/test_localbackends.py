"""Addresses of this machine by the command line, as they are told to other commands."""

import pytest

from contour import localbackends

GIVEN = [
    "default/cart=127.0.0.1:9001",
    "team/shop=[::1]:9002",
    "team/shop=10.0.0.1:80",
]


def test_what_is_written_is_read_as_the_same() -> None:
    found = localbackends.named(GIVEN)
    assert localbackends.named(localbackends.written(found)) == found


@pytest.mark.parametrize("option", GIVEN)
def test_each_address_is_a_value_of_its_own(option: str) -> None:
    assert localbackends.written(localbackends.named([option])) == [option]
