"""What is behind a Service, by its EndpointSlices."""

from typing import Any

import pytest

from tests.pods import services

Raw = dict[str, Any]

READY = {"ready": True, "serving": True, "terminating": False}
ENDING = {"ready": False, "serving": True, "terminating": True}
ENDED = {"ready": False, "serving": False, "terminating": True}
ILL = {"ready": False, "serving": False, "terminating": False}


def service(**spec: Any) -> Raw:
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "nodePort": 30000}]
    balanced = {"loadBalancer": {"ingress": [{"ip": "10.0.200.1"}]}}
    return {"spec": {"clusterIPs": ["10.96.0.9"], "ports": ports, **spec}, "status": balanced}


def endpoints(*conditions: Raw, port: str = "http") -> Raw:
    found = [{"addresses": [f"10.0.0.{i}"], "conditions": it} for i, it in enumerate(conditions)]
    ports = [{"name": port, "port": 8080}]
    return {"addressType": "IPv4", "ports": ports, "endpoints": found}


@pytest.mark.parametrize(
    ("conditions", "behind"),
    [
        ((READY, ILL, READY), [0, 2]),
        ((READY, ENDING), [0]),
        ((ENDING, ILL), [0]),
        ((ENDED, ILL), []),
        (({},), [0]),
    ],
)
def test_ready_ones_are_asked_else_those_that_end_but_serve(
    conditions: tuple[Raw, ...], behind: list[int]
) -> None:
    found = dict(services.fronts(service(), [endpoints(*conditions)], ["10.0.254.1"]))
    assert {(it.address, it.port) for it in found} == {
        ("10.96.0.9", 80),
        ("10.0.200.1", 80),
        ("10.0.254.1", 30000),
    }
    for targets in found.values():
        assert [address for address, _ in targets] == [f"10.0.0.{i}" for i in behind]


def test_an_endpoint_of_another_port_is_not_asked() -> None:
    found = dict(services.fronts(service(), [endpoints(READY, port="other")], []))
    assert set(found.values()) == {()}


def test_a_headless_service_has_no_address() -> None:
    found = dict(services.fronts(service(clusterIPs=["None"]), [endpoints(READY)], []))
    assert {it.address for it in found} == {"10.0.200.1"}
