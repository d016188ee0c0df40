"""Where the requests of a rule go, by weight, and what is told of references that lead nowhere."""

import pytest

from dag import listeners, nodes
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    grant,
    listener,
    on,
    route,
    service,
    stream_route,
    to,
)
from tests.dag.gateway.test_httproute import forward
from tests.dag.world import FLEET, apply, delete, routes, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
FINE = ["Accepted", "ResolvedRefs"]


def to_all(*references: str) -> str:
    return f"{{backendRefs: [{', '.join(f'{{{it}}}' for it in references)}]}}"


@pytest.mark.parametrize(
    ("references", "text"),
    [
        (("name: s1, port: 80",), "default/s1:80"),
        (
            ("name: s1, port: 80, weight: 70", "name: s2, port: 80, weight: 30"),
            "default/s1:80 x70, default/s2:80 x30",
        ),
        (
            ("name: s1, port: 80, weight: 0", "name: s2, port: 80"),
            "default/s2:80",
        ),
        (
            ("name: s1, port: 80, weight: 9", "name: missing, port: 80"),
            "default/s1:80 x9, 500 x1",
        ),
        (("name: s1, port: 80, weight: 0",), "500"),
        (("name: missing, port: 80", "name: s1, port: 80, weight: 0"), "500"),
        ((), "500"),
    ],
)
def test_requests_are_split_by_weight(references: tuple[str, ...], text: str) -> None:
    it = world(GIVEN + route("r", to_all(*references)))
    assert routes(it, "*") == [f"/ -> {text}"]


def test_a_rule_without_backends_answers_500_and_its_references_are_resolved() -> None:
    it = world(GIVEN + route("r", to_all(), on("/ok", "s1")))
    assert routes(it, "*") == ["/ok/... -> default/s1:80", "/ -> 500"]
    assert status_text.route(it, "r") == FINE


@pytest.mark.parametrize(
    ("references", "why"),
    [
        ((), "it names no backend"),
        (("name: s1, port: 80, weight: 0", "name: gone, port: 80, weight: 0"), "every weight is 0"),
    ],
)
def test_a_rule_that_leads_to_no_backend_as_it_is_written_is_told(
    references: tuple[str, ...], why: str
) -> None:
    it = world(GIVEN + route("r", on("/ok", "s1"), to_all(*references)))
    told = f"spec.rules[1].backendRefs: {why}, so its requests are answered 500"
    assert status_text.route_messages(it, "r")[0] == f"the route is attached; {told}"


def test_a_stream_that_leads_to_no_backend_as_it_is_written_is_told() -> None:
    tcp, idle = listener("tcp", 9000, "TCP"), "{name: s1, port: 80, weight: 0}"
    it = world(gateway_class() + gateway("gw", tcp) + stream_route("TCPRoute", "r", idle))
    told = "spec.rules[0].backendRefs: every weight is 0, so its connections are closed"
    assert told in status_text.route_messages(it, "r", kind="TCPRoute")[0]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("name: missing, port: 80", "BackendNotFound"),
        ("name: s1, port: 81", "BackendNotFound"),
        ("name: outside, port: 80", "BackendNotFound"),
        ("name: s1, kind: Odd, port: 80", "InvalidKind"),
        ("name: s1, group: example.com, port: 80", "InvalidKind"),
        ("name: datagrams, port: 80", "UnsupportedProtocol"),
        ("name: encrypted, port: 80", "UnsupportedProtocol"),
        ("name: unknown, port: 80", "UnsupportedProtocol"),
        ("name: s1, namespace: far, port: 80", "RefNotPermitted"),
        ("name: missing, namespace: far, port: 80", "RefNotPermitted"),
    ],
)
def test_a_reference_that_leads_nowhere_answers_500_and_harms_no_other_rule(
    reference: str, reason: str
) -> None:
    it = world(
        GIVEN
        + service("s1", "far")
        + service("datagrams", port="port: 80, protocol: UDP")
        + service("encrypted", port="port: 80, appProtocol: https")
        + service("unknown", port="port: 80, appProtocol: example.com/odd")
        + """
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {type: ExternalName, externalName: example.com, ports: [{port: 80}]}
"""
        + route("r", to_all(reference), on("/ok", "s2"))
    )
    assert routes(it, "*") == ["/ok/... -> default/s2:80", "/ -> 500"]
    assert status_text.route(it, "r") == ["Accepted", f"ResolvedRefs=False/{reason}"]
    assert status_text.route_messages(it, "r")[1].startswith("spec.rules[0].backendRefs[0]: ")
    assert status_text.attached(it) == {"http": 1}


def test_every_bad_reference_is_listed_and_a_missing_grant_gives_the_reason() -> None:
    references = (
        "name: missing, port: 80",
        "name: s, kind: Odd",
        "name: s, namespace: far, port: 80",
    )
    it = world(GIVEN + route("r", to_all(*references)))
    assert status_text.route(it, "r")[1] == "ResolvedRefs=False/RefNotPermitted"
    message = status_text.route_messages(it, "r")[1]
    assert [f"backendRefs[{index}]" in message for index in range(3)] == [True] * 3


def test_a_message_lists_sixteen_problems_and_counts_the_rest() -> None:
    rules = [
        to_all(*(f"name: missing{rule}x{each}, port: 80" for each in range(5))) for rule in range(4)
    ]
    it = world(GIVEN + route("r", *rules))
    message = status_text.route_messages(it, "r")[1]
    assert message.endswith("; and 4 more")
    assert message.count("not found") == 16
    apply(it, route("r", rules[0]))
    assert "more" not in status_text.route_messages(it, "r")[1]


def test_what_is_told_without_a_grant_does_not_tell_whether_the_service_is_there() -> None:
    it = world(GIVEN + route("r", to_all("name: s1, namespace: far, port: 80")))
    before = status_text.route_messages(it, "r")
    apply(it, service("s1", "far"))
    assert status_text.route_messages(it, "r") == before


def test_references_are_resolved_also_where_the_route_is_not_attached() -> None:
    it = world(GIVEN + route("r", to_all("name: missing, port: 80"), parents="{name: gw, port: 9}"))
    assert status_text.route(it, "r") == [
        "Accepted=False/NoMatchingParent",
        "ResolvedRefs=False/BackendNotFound",
    ]


def test_a_service_that_comes_and_goes_is_followed() -> None:
    it = world(GIVEN + route("r", to("s3")))
    assert routes(it, "*") == ["/ -> 500"]
    apply(it, service("s3"))
    assert routes(it, "*") == ["/ -> default/s3:80"]
    delete(it, "Service", "s3")
    assert routes(it, "*") == ["/ -> 500"]


@pytest.mark.parametrize(
    ("app_protocol", "protocol", "websockets"),
    [
        ("kubernetes.io/h2c", "h2c", False),
        ("kubernetes.io/ws", "http/1.1", True),
        ("http", "http/1.1", False),
        ("HTTP", "http/1.1", False),
    ],
)
def test_the_protocol_of_a_backend_is_that_of_its_service_port(
    app_protocol: str, protocol: str, websockets: bool
) -> None:
    port = f"port: 80, appProtocol: {app_protocol}"
    it = world(GIVEN + service("s3", port=port) + route("r", to("s3")))
    found = forward(it)
    assert found.websockets is websockets
    assert [each.cluster and each.cluster.protocol for each in found.backends] == [protocol]


def test_headers_may_be_changed_for_one_backend_alone() -> None:
    def changed(name: str) -> str:
        set_ = f"{{set: [{{name: via, value: {name}}}]}}"
        filters = (
            f"{{type: RequestHeaderModifier, requestHeaderModifier: {set_}}}, "
            f"{{type: ResponseHeaderModifier, responseHeaderModifier: {set_}}}"
        )
        return f"name: {name}, port: 80, filters: [{filters}]"

    it = world(GIVEN + route("r", to_all(changed("s1"), changed("s2"))))
    found = forward(it).backends
    for policies in (
        [each.request_headers for each in found],
        [each.response_headers for each in found],
    ):
        assert [policy and policy.set for policy in policies] == [
            (("via", "s1"),),
            (("via", "s2"),),
        ]
    assert status_text.route(it, "r") == FINE
    assert "not served" not in status_text.route_messages(it, "r")[0]


GROUP = "group: gateway.networking.k8s.io"
TO = "group: '', kind: Service"


@pytest.mark.parametrize(
    ("from_", "to_", "namespace", "permitted"),
    [
        (f"{GROUP}, kind: HTTPRoute, namespace: default", TO, "far", True),
        (f"{GROUP}, kind: HTTPRoute, namespace: default", f"{TO}, name: s1", "far", True),
        (f"{GROUP}, kind: HTTPRoute, namespace: default", f"{TO}, name: s2", "far", False),
        (f"{GROUP}, kind: HTTPRoute, namespace: default", "group: '', kind: Secret", "far", False),
        (
            f"{GROUP}, kind: HTTPRoute, namespace: default",
            "group: x.com, kind: Service",
            "far",
            False,
        ),
        (f"{GROUP}, kind: HTTPRoute, namespace: other", TO, "far", False),
        (f"{GROUP}, kind: Gateway, namespace: default", TO, "far", False),
        ("group: x.com, kind: HTTPRoute, namespace: default", TO, "far", False),
        (f"{GROUP}, kind: HTTPRoute, namespace: default", TO, "default", False),
    ],
)
def test_a_grant_permits_exactly_what_it_says(
    from_: str, to_: str, namespace: str, permitted: bool
) -> None:
    it = world(
        GIVEN
        + service("s1", "far")
        + route("r", to_all("name: s1, namespace: far, port: 80"))
        + grant("g", namespace, from_, to_)
    )
    assert routes(it, "*") == ["/ -> far/s1:80" if permitted else "/ -> 500"]
    reason = "ResolvedRefs" if permitted else "ResolvedRefs=False/RefNotPermitted"
    assert status_text.route(it, "r") == ["Accepted", reason]


def test_grants_are_alternatives_and_the_last_one_that_goes_revokes() -> None:
    it = world(
        GIVEN
        + service("s1", "far")
        + route("r", to_all("name: s1, namespace: far, port: 80"))
        + grant("a", "far")
        + grant("b", "far")
    )
    delete(it, "ReferenceGrant", "far/a")
    assert routes(it, "*") == ["/ -> far/s1:80"]
    delete(it, "ReferenceGrant", "far/b")
    assert routes(it, "*") == ["/ -> 500"]


def test_a_reference_into_its_own_namespace_needs_no_grant() -> None:
    it = world(GIVEN + route("r", to_all("name: s1, namespace: default, port: 80")))
    assert routes(it, "*") == ["/ -> default/s1:80"]


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_name_elsewhere_gets_no_datagrams(is_allowed: bool) -> None:
    external = service("dns", port="port: 53, protocol: UDP")
    external = external.replace("spec: {", "spec: {type: ExternalName, externalName: b.com, ")
    it = world(
        configuration(f"enableExternalNameService: {str(is_allowed).lower()}")
        + gateway_class()
        + gateway("gw", listener("udp", 5300, "UDP"))
        + external
        + stream_route("UDPRoute", "r", "{name: dns, port: 53}")
    )
    told = status_text.route_messages(it, "r", kind="UDPRoute")[1]
    assert told.startswith("spec.rules[0].backendRefs[0]: Service default/dns is of type Ext")


def test_limits_by_annotations_hold_for_datagrams() -> None:
    annotated = "namespace: default, annotations: {projectcontour.io/max-connections: '5'}"
    it = world(
        gateway_class()
        + gateway("gw", listener("udp", 5300, "UDP"))
        + service("dns", port="port: 53, protocol: UDP").replace("namespace: default", annotated)
        + stream_route("UDPRoute", "r", "{name: dns, port: 53}")
    )
    found = it.answer(listeners.listener, nodes.ListenerKey(FLEET, "udp-5300"))
    assert found is not None
    assert found.stream is not None
    (share,) = found.stream.shares
    assert share.cluster is not None
    assert share.cluster.limits == nodes.CircuitBreakers(connections=5)
