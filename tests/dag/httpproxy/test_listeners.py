"""Where hosts live when a Gateway brings the listeners, and who is told if that is left open."""

import pytest

from tests.dag.httpproxy.manifests import root, services, to
from tests.dag.ingress.manifests import ingress, path, rule
from tests.dag.world import problems, routes, world

HOSTS = (
    services("s1")
    + root("root", f"routes: [{to('s1')}]")
    + ingress("i", f"rules: [{rule('b.com', path('/', 's1'))}]")
)


def gateway(*ports: int) -> str:
    listeners = ", ".join(f"{{name: l{it}, port: {it}, protocol: HTTP}}" for it in ports)
    return f"""
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: c}}
spec: {{controllerName: projectcontour.io/gateway-controller}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: g}}
spec: {{gatewayClassName: c, listeners: [{listeners}]}}
"""


@pytest.mark.parametrize(
    ("ports", "listener"),
    [((), "ingress_http"), ((8080,), "http-8080"), ((80, 8080), "ingress_http")],
)
def test_hosts_live_on_the_one_listener_or_on_the_usual_one(
    ports: tuple[int, ...], listener: str
) -> None:
    engine = world(HOSTS + (gateway(*ports) if ports else ""))
    assert routes(engine, "a.com", listener) == ["/ -> default/s1:80"]
    assert routes(engine, "b.com", listener) == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == problems(engine, "Ingress", "i") == []


def test_a_gateway_that_leaves_it_open_is_told_on_the_objects_that_are_not_served() -> None:
    engine = world(HOSTS + gateway(8080, 8081))
    assert routes(engine, "a.com") == routes(engine, "a.com", "http-8080") == []
    expected = ["ListenerError/ErrorIdentifyingListener"]
    assert problems(engine, "HTTPProxy", "root") == problems(engine, "Ingress", "i") == expected
