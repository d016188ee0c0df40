"""Where clients reach what is served."""

from typing import Any

import pytest

from contour.status.addresses import Address, addresses, load_balancer, of_gateway
from dag import statuses

IP, NAME = Address(ip="192.0.2.1"), Address(hostname="lb.example.com")


def service(*ingress: dict[str, Any]) -> dict[str, Any]:
    return {"loadBalancer": {"ingress": list(ingress)}}


@pytest.mark.parametrize(
    ("configured", "status", "found"),
    [
        ("", None, ()),
        ("", {}, ()),
        ("", {"loadBalancer": {}}, ()),
        ("", {"loadBalancer": None}, ()),
        ("", service({"ip": "192.0.2.1", "ipMode": "VIP"}), (IP,)),
        ("", service({"hostname": "lb.example.com"}), (NAME,)),
        ("", service({"ip": "192.0.2.1", "hostname": "lb.example.com"}), (IP, NAME)),
        ("", service({"ip": "192.0.2.1"}, {"ip": "192.0.2.1"}), (IP,)),
        ("lb.example.com", service({"ip": "192.0.2.1"}), (NAME,)),
        ("192.0.2.1, lb.example.com,", None, (IP, NAME)),
        ("2001:0db8::0001", None, (Address(ip="2001:db8::1"),)),
    ],
)
def test_the_configuration_tells_or_else_the_service(
    configured: str, status: dict[str, Any] | None, found: tuple[Address, ...]
) -> None:
    assert addresses(configured, status) == found


def test_each_kind_has_its_own_shape() -> None:
    assert load_balancer([]) == {}
    assert load_balancer([IP, NAME]) == {
        "ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}]
    }
    assert of_gateway([IP, NAME]) == (
        statuses.Address("IPAddress", "192.0.2.1"),
        statuses.Address("Hostname", "lb.example.com"),
    )
