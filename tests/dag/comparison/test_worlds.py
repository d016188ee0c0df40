"""What differs between two small worlds, as the author of the change is told it."""

import pytest

from dag.comparison import worlds
from tests.dag import world
from tests.testbed import certificates, pairs

SERVICES = "".join(
    f"""
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{ports: [{{port: 80}}]}}
"""
    for name in ("web", "new")
)
SECRET = pairs.of("tls", certificates.self_signed("shop.example.com"))


def proxy(*routes: str, host: str = "shop.example.com", more: str = "") -> str:
    entries = "".join(f"  - {{{it}}}\n" for it in routes)
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: shop}}
spec:
  virtualhost: {{fqdn: '{host}'{more}}}
  routes:
{entries}"""


def to(service: str, path: str = "/", more: str = "") -> str:
    return f"conditions: [{{prefix: {path}}}], services: [{{name: {service}, port: 80}}]{more}"


def having(header: str, service: str) -> str:
    conditions = f"conditions: [{{header: {{name: {header}, present: true}}}}]"
    return f"{conditions}, services: [{{name: {service}, port: 80}}]"


ALLOW = ", ipAllowPolicy: [{source: Peer, cidr: 10.0.0.0/8}]"
WEB = "Service default/web:80"
NEW = "Service default/new:80"

CASES = {
    "nothing": (proxy(to("web")), proxy(to("web")), []),
    "another Service": (
        proxy(to("web")), proxy(to("new")), [f"/*: answer: {WEB} -> {NEW}"],
    ),
    "a shadowed route": (
        proxy("services: [{name: web, port: 80}]"),
        proxy("services: [{name: web, port: 80}]", to("web", "/cart")),
        [],
    ),
    "a longer prefix": (
        proxy(to("web")), proxy(to("web"), to("new", "/cart")),
        [f"/cart*: answer: {WEB} -> {NEW}"],
    ),
    "a timeout": (
        proxy(to("web")), proxy(to("web", more=", timeoutPolicy: {response: 5s}")),
        ["/*: timeout:  -> 5 s"],
    ),
    "a duration and a ratio": (
        proxy(to("web")),
        proxy(
            "services: [{name: web, port: 80, slowStartPolicy: {window: 10s, aggression: '1.5'}}]"
        ),
        ["/*: backend slow start: none -> window 10 s; aggression 1.5"],
    ),
    "a guard that is gone": (
        proxy(to("web", more=ALLOW)), proxy(to("web")),
        ["/*: ip filter: action ALLOW; ranges cidr 10.0.0.0/8 ->  (unguarded)"],
    ),
    "a guard that has come": (
        proxy(to("web")), proxy(to("web", more=ALLOW)),
        ["/*: ip filter:  -> action ALLOW; ranges cidr 10.0.0.0/8"],
    ),
    "a host that is gone": (
        proxy(to("web")), "", [f"/*: answer: {WEB} -> answered 404 (closed)"],
    ),
    "a host of a wider one": (
        proxy(to("web"), host="*.example.com"),
        proxy(to("web"), host="*.example.com") + proxy(to("new")).replace("shop}", "other}"),
        [f"/*: answer: {WEB} -> {NEW}"],
    ),
    "a Service that is missing": (
        proxy(to("web")), proxy(to("nobody")), [f"/*: answer: {WEB} -> answered 503 (closed)"],
    ),
    "two conditions that meet": (
        proxy(having("x", "web")), proxy(having("x", "web"), having("y", "new")),
        [f"/*, with 1 header condition: answer: answered 404 -> {NEW}"],
    ),
    "TLS that is gone": (
        SECRET + proxy(to("web"), more=", tls: {secretName: tls}"), proxy(to("web")),
        [
            "TLS: certificate: Secret default/tls ->  (closed)",
            f"/*: answer: redirected with 301 to https://the same host -> {WEB}",
            f"/*: answer: {WEB} -> answered 404 (closed)",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_told(name: str) -> None:
    before, after, wanted = CASES[name]
    old, new = (world.world(SERVICES + it) for it in (before, after))
    found = [
        f"{it.what}: {it.aspect}: {it.before} -> {it.after}" + (f" ({it.harm})" if it.harm else "")
        for it in worlds.differences(old, new)
    ]
    assert found == wanted


LET_IN = ", ipAllowPolicy: [{source: Peer, cidr: 127.0.0.0/8}]"


@pytest.mark.parametrize(
    ("one", "other", "has_example"),
    [
        (to("web"), to("new"), True),
        (to("web", more=LET_IN), to("new", more=LET_IN), True),
        (to("web", more=ALLOW), to("new", more=ALLOW), False),
        (having("x-one", "web"), having("x-one", "new"), True),
        (having("x_one", "web"), having("x_one", "new"), False),  # which listeners refuse
        (to("web"), to("web", more=", timeoutPolicy: {response: 5s}"), True),
    ],
)
def test_an_example_is_answered_differently(one: str, other: str, has_example: bool) -> None:
    old, new = (world.world(SERVICES + proxy(it)) for it in (one, other))
    found = next(worlds.differences(old, new))
    assert (found.example is not None) == has_example


GATEWAY = """
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec:
  gatewayClassName: contour
  listeners: [{name: http, port: 80, protocol: HTTP%s}]
"""
FILTER = (
    ", filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {},"
    " backendRef: {name: web, port: 80}}}]}"
)


def test_a_filter_of_a_listener_that_goes_leaves_it_unguarded() -> None:
    with_filter, without = (world.world(SERVICES + GATEWAY % it) for it in (FILTER, ""))
    told = [(it.what, it.harm) for it in worlds.differences(with_filter, without)]
    assert ("filter gateway/default/gw/http/0", "unguarded") in told
    told = [(it.what, it.harm) for it in worlds.differences(without, with_filter)]
    assert ("filter gateway/default/gw/http/0", "drained") in told
