"""Which policies take part in a request, and which give way: in one line per policy."""

import pytest

from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from tests.dag.gateway import test_clienttrafficpolicies as clients
from tests.dag.gateway.manifests import (
    backend,
    configuration,
    gateway,
    gateway_class,
    http,
    listener,
    listener_set,
    policy,
    route,
    service,
    stream_route,
    to,
    xbackend_traffic_policy,
)
from tests.dag.gateway.test_backendtraffic import BUDGET
from tests.dag.gateway.test_envoybackends import KIND, NAME, TO
from tests.dag.gateway.test_policymerging import policy as attached
from tests.dag.gateway.test_policymerging import traffic
from tests.dag.gateway.test_securitypolicies import GATEWAY, ROUTE
from tests.dag.world import FLEET, world
from tests.testbed import pairs

CLASS = gateway_class() + service("s1")
GIVEN = CLASS + gateway("gw") + route("r")
SECURE = (
    CLASS
    + gateway(
        "gw",
        listener("https", 443, "HTTPS", "tls: {certificateRefs: [{name: pair}]}"),
        listener("other", 443, "HTTPS", "tls: {certificateRefs: [{name: pair}]}, hostname: b.com"),
    )
    + route("r")
    + pairs.secret("pair")
)
STREAMS = (
    CLASS
    + gateway("gw", listener("tcp", 7000, "TCP"))
    + stream_route("TCPRoute", "r", "{name: s1, port: 80}")
)
TLS = "wellKnownCACertificates: System, hostname: s1.com"
CSRF, RETRY, AGED = "csrf: {}", "retry: {}", "connection: {bufferLimit: 32Ki}"
RULE = ROUTE.replace("}", ", sectionName: one}")
TCP = ROUTE.replace("HTTPRoute", "TCPRoute")
LISTENER = clients.part("http")
SET = GATEWAY.replace("Gateway", "ListenerSet").replace("gw", "more")

HTTP, HTTPS = Request("a.com"), Request("a.com", is_secure=True, port=443)
CONNECTION = Request("127.0.0.1", method="", port=7000, is_stream=True)
WITHOUT_SETS = "allowedListeners: {namespaces: {from: Same}}"
OF_SET = (
    CLASS
    + gateway("gw", http(rest="hostname: x.com"), rest=WITHOUT_SETS)
    + listener_set("more", http("own", rest="hostname: a.com"))
    + route("r", parents="{kind: ListenerSet, group: gateway.networking.k8s.io, name: more}")
)

ROWS: dict[str, tuple[Request, str, list[str]]] = {
    "of the listener": (
        HTTP,
        GIVEN + clients.policy("x", AGED),
        ["listener: x applies to the listener http"],
    ),
    "of a younger one for the same Gateway": (
        HTTP,
        GIVEN + clients.policy("x", AGED) + clients.policy("y", AGED),
        ["listener: x applies to the listener http", "listener: y is overridden by x, older"],
    ),
    "of the Gateway where the listener has one": (
        HTTP,
        GIVEN + clients.policy("x", AGED) + clients.policy("y", AGED, LISTENER),
        ["listener: y applies to the listener http", "listener: x is overridden by y, nearer"],
    ),
    "of the Gateway where a ListenerSet has one": (
        HTTP,
        OF_SET + clients.policy("x", AGED) + clients.policy("y", AGED, SET),
        [
            "listener: y applies to the listener own",
            "listener: y does not hold for what all hosts of port 80 share: x of the Gateway holds "
            "there",
            "listener: x is overridden by y, nearer",
        ],
    ),
    "of a port that others have, too": (
        HTTP,
        CLASS
        + gateway("gw", http(), http("other", rest="hostname: b.com"))
        + route("r")
        + clients.policy("x", AGED, LISTENER),
        [
            "listener: x applies to the listener http",
            "listener: x does not hold for what all hosts of port 80 share: "
            "other listeners of Gateways there are not under a policy",
        ],
    ),
    "of a port about which it says nothing": (
        HTTP,
        CLASS
        + gateway("gw", http(), http("other", rest="hostname: b.com"))
        + route("r")
        + clients.policy("x", "tls: {minVersion: '1.3'}", LISTENER),
        ["listener: x applies to the listener http"],
    ),
    "of a listener that it closes": (
        HTTP,
        GIVEN + clients.policy("x", "tls: {clientValidation: {caCertificateRefs: [{name: no}]}}"),
        ["listener: x closes the listener http"],
    ),
    "of a listener that does not have the host": (
        HTTPS,
        SECURE + clients.policy("x", "", clients.part("other")),
        [],
    ),
    "of the listener with the host, over TLS": (
        HTTPS,
        SECURE + clients.policy("x", "", clients.part("https")),
        ["listener: x applies to the listener https"],
    ),
    "of TCP connections": (
        CONNECTION,
        STREAMS + clients.policy("x", AGED),
        ["listener: x applies to the listener tcp"],
    ),
    "of the rule before the route and the Gateway": (
        HTTP,
        CLASS
        + gateway("gw")
        + route("r", to("s1", "name: one"))
        + attached("a", CSRF, RULE)
        + attached("b", CSRF, RULE)
        + attached("c", CSRF)
        + attached("d", CSRF, GATEWAY),
        [
            "route: a applies to the route",
            "route: b is overridden by a, older",
            "route: c is overridden by a, nearer",
            "route: d is overridden by a, nearer",
        ],
    ),
    "of another rule": (
        HTTP,
        CLASS + gateway("gw") + route("r", to("s1", "name: two")) + attached("a", CSRF, RULE),
        [],
    ),
    "of two targets, the nearer of which counts": (
        HTTP,
        GIVEN + attached("a", CSRF, GATEWAY, ROUTE) + attached("b", CSRF, GATEWAY),
        ["route: a applies to the route", "route: b is overridden by a, older"],
    ),
    "of each kind on its own": (
        HTTP,
        GIVEN + attached("a", CSRF) + traffic("t", RETRY, GATEWAY) + traffic("u", RETRY, GATEWAY),
        [
            "route: a applies to the route",
            "route: t applies to the route",
            "route: u is overridden by t, older",
        ],
    ),
    "of two that are merged, and a third": (
        HTTP,
        GIVEN
        + traffic("t", f"mergeType: JSONMerge, {RETRY}")
        + traffic("u", RETRY, GATEWAY)
        + traffic("v", RETRY, GATEWAY),
        [
            "route: t applies to the route",
            "route: u applies to the route",
            "route: v is overridden by u, older",
        ],
    ),
    "of a stream": (
        CONNECTION,
        STREAMS + traffic("t", RETRY, TCP) + traffic("u", RETRY, GATEWAY),
        ["route: t applies to the route", "route: u is overridden by t, nearer"],
    ),
    "of the rule of a stream": (
        CONNECTION,
        STREAMS.replace("[{backend", "[{name: one, backend")
        + traffic("t", RETRY, TCP)
        + traffic("u", RETRY, TCP.replace("}", ", sectionName: one}"))
        + traffic("v", RETRY, TCP.replace("}", ", sectionName: two}")),
        ["route: u applies to the route", "route: t is overridden by u, nearer"],
    ),
    "of a stream, merged": (
        CONNECTION,
        STREAMS
        + traffic("t", f"mergeType: JSONMerge, {RETRY}", TCP)
        + traffic("u", RETRY, GATEWAY),
        ["route: t applies to the route", "route: u applies to the route"],
    ),
    "of a Gateway that says nothing to streams": (
        CONNECTION,
        STREAMS + attached("a", CSRF, GATEWAY),
        [],
    ),
    "of a Gateway that says who connects": (
        CONNECTION,
        STREAMS + attached("a", "authorization: {defaultAction: Deny}", GATEWAY),
        ["route: a applies to the route"],
    ),
    "of the listener of a stream": (
        CONNECTION,
        STREAMS + attached("a", CSRF, clients.part("tcp")),
        ["route: a applies to the route"],
    ),
    "of the backend": (
        HTTP,
        GIVEN + policy("b", TLS) + policy("c", TLS),
        ["action: b applies to Service default/s1", "action: c is overridden by b, older"],
    ),
    "of the port of the backend": (
        HTTP,
        CLASS.replace("{port: 80}", "{name: web, port: 80}")
        + gateway("gw")
        + route("r")
        + policy("b", TLS)
        + policy("c", TLS, section="web"),
        ["action: c applies to Service default/s1", "action: b is overridden by c, nearer"],
    ),
    "of a Backend": (
        HTTP,
        CLASS
        + configuration("enableBackend: true")
        + gateway("gw")
        + backend("b", NAME)
        + route("r", to(TO))
        + policy("x", TLS, "b").replace("group: '', kind: Service", KIND)
        + policy("y", TLS, "b", "'8443'").replace("group: '', kind: Service", KIND),
        ["action: y applies to Backend default/b", "action: x is overridden by y, nearer"],
    ),
    "of the backend of a TCPRoute, whose clients speak TLS to it": (
        CONNECTION,
        STREAMS + policy("b", TLS) + xbackend_traffic_policy("p", BUDGET),
        [],
    ),
    "of a backend that a policy closes": (
        HTTP,
        GIVEN + policy("b", "wellKnownCACertificates: Nobody, hostname: s1.com"),
        [],
    ),
    "of the retries of the backend": (
        HTTP,
        GIVEN + xbackend_traffic_policy("q", BUDGET) + xbackend_traffic_policy("p", BUDGET),
        ["action: p applies to Service default/s1", "action: q is overridden by p, older"],
    ),
}


@pytest.mark.parametrize("which", ROWS)
def test_policies_are_told(which: str) -> None:
    request, manifests, expected = ROWS[which]
    found = evaluator.evaluate(world(manifests), FLEET, request)
    told = [
        f"{it.topic}: {_short(it.text)}"
        for it in found.steps
        if it.subject is not None and it.text.startswith(f"{it.subject} ")
    ]
    assert told == expected


def _short(text: str) -> str:
    for kind in _KINDS:
        text = text.replace(f"{kind} default/", "") if "the older" not in text else text
    first, sign, rest = text.partition(" is overridden by ")
    if not sign:
        return text.removeprefix("ClientTrafficPolicy default/")
    words = rest.replace(", which is older", ", older")
    return f"{first}{sign}{words.replace(', which is for a nearer target', ', nearer')}"


_KINDS = (
    "ClientTrafficPolicy",
    "SecurityPolicy",
    "XBackendTrafficPolicy",
    "BackendTrafficPolicy",
    "BackendTLSPolicy",
)
