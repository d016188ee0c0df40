"""Which backends of a rule become one cluster, for fallbacks and sessions; what others are told."""

import pytest

from crds.meta import ObjectRef
from dag import nodes
from dag.engine.incremental import Engine
from dag.evaluation import actions
from dag.gateway import streams
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    backend,
    gateway,
    gateway_class,
    http,
    policy,
    route,
    service,
    stream_route,
    to,
)
from tests.dag.gateway.test_httproute import forward
from tests.dag.world import apply, key, routes, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
KIND = "group: gateway.envoyproxy.io, kind: Backend"


def _ref(name: str, rest: str = "") -> str:
    return f"{{{KIND}, name: {name}{rest}}}"


def _name(host: str, rest: str = "") -> str:
    return f"endpoints: [{{fqdn: {{hostname: {host}, port: 80}}}}]{rest}"


def _address(text: str, rest: str = "") -> str:
    return f"endpoints: [{{ip: {{address: {text}, port: 80}}}}]{rest}"


SPARE = ", fallback: true"


def _rule(*references: str) -> str:
    return f"{{backendRefs: [{', '.join(references)}]}}"


def _shares(it: Engine) -> list[tuple[str, int]]:
    found = forward(it).backends
    return [(it.cluster.port.service.name if it.cluster else "", it.weight) for it in found]


def _members(it: Engine) -> list[tuple[str, int, bool]]:
    (share,) = (it for it in forward(it).backends if it.cluster and it.cluster.members)
    assert share.cluster is not None
    return [(m.port.service.name, m.weight, m.is_fallback) for m in share.cluster.members]


def _told(it: Engine) -> str:
    return " ".join(status_text.route_messages(it, "r"))


def test_backends_and_their_fallback_are_one_cluster_by_priority() -> None:
    given = backend("a", _address("10.0.0.1")) + backend("b", _address("10.0.0.2"))
    given += backend("spare", _address("10.0.0.3", SPARE))
    rule = _rule(_ref("a", ", weight: 3"), _ref("b"), _ref("spare", ", weight: 7"))
    it = world(GIVEN + given + route("r", rule))
    assert _shares(it) == [("a", 4)]
    assert _members(it) == [("a", 3, False), ("b", 1, False), ("spare", 7, True)]
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]


def test_a_service_fails_over_to_addresses() -> None:
    given = backend("spare", _address("10.0.0.3", SPARE))
    it = world(GIVEN + given + route("r", _rule("{name: s1, port: 80}", _ref("spare"))))
    assert _members(it) == [("s1", 1, False), ("spare", 1, True)]


def test_names_fail_over_to_names_and_addresses() -> None:
    given = backend("a", _name("a.com")) + backend("spare", _name("b.com", SPARE))
    rule = route("r", _rule(_ref("a"), _ref("spare")))
    it = world(GIVEN + given + rule)
    (found,) = forward(it).backends
    assert found.cluster is not None
    assert [it.names for it in found.cluster.members] == [
        (nodes.Endpoint("a.com", 80),),
        (nodes.Endpoint("b.com", 80),),
    ]
    assert found.cluster.dns == nodes.DnsAddress("a.com", 80)
    apply(it, backend("spare", _address("10.0.0.3", SPARE)))
    (found,) = forward(it).backends
    assert found.cluster is not None
    assert found.cluster.names == (nodes.Endpoint("a.com", 80), nodes.Endpoint("10.0.0.3", 80))
    apply(it, backend("a", _address("10.0.0.1")) + backend("spare", _name("b.com", SPARE)))
    (found,) = forward(it).backends
    assert found.cluster is not None
    assert found.cluster.names == (nodes.Endpoint("10.0.0.1", 80), nodes.Endpoint("b.com", 80))


def test_each_name_is_asked_for_by_tls_where_they_are_alike() -> None:
    tls = ", tls: {wellKnownCACertificates: System, autoSNIFromEndpointHostname: true}"
    given = backend("a", _name("a.com", tls)) + backend("spare", _name("b.com", tls + SPARE))
    it = world(GIVEN + given + route("r", _rule(_ref("a"), _ref("spare"))))
    (found,) = forward(it).backends
    assert found.cluster is not None
    assert found.cluster.tls is not None
    assert [it.value for it in found.cluster.tls.names] == ["a.com", "b.com"]


@pytest.mark.parametrize(
    ("active", "spare", "text"),
    [
        (_address("10.0.0.1"), _address("10.0.0.2", ", tls: {insecureSkipVerify: true}"), "spoken"),
        (
            _address("10.0.0.1"),
            _address("10.0.0.2", ", appProtocols: [gateway.envoyproxy.io/h2c]"),
            "spoken",
        ),
        (_name("a.com"), "endpoints: [{unix: {path: /run/it}}]", "DNS does not find both"),
    ],
)
def test_a_fallback_that_is_not_alike_gets_nothing(active: str, spare: str, text: str) -> None:
    given = backend("a", active) + backend("spare", spare + SPARE)
    it = world(GIVEN + given + route("r", _rule(_ref("a"), _ref("spare"))))
    assert _shares(it) == [("a", 1)]
    assert text in _told(it)
    assert "rules[0].backendRefs[1]: the fallback gets no requests" in _told(it)


def test_a_name_does_not_stand_in_for_a_service() -> None:
    given = backend("spare", _name("b.com", SPARE))
    it = world(GIVEN + given + route("r", _rule("{name: s1, port: 80}", _ref("spare"))))
    assert _shares(it) == [("s1", 1)]
    assert "DNS does not find both Service default/s1 and Backend default/spare" in _told(it)


def test_a_backend_that_is_not_alike_keeps_its_share() -> None:
    given = backend("a", _address("10.0.0.1")) + backend("spare", _address("10.0.0.2", SPARE))
    given += backend("other", _address("10.0.0.9", ", tls: {insecureSkipVerify: true}"))
    it = world(GIVEN + given + route("r", _rule(_ref("a"), _ref("other"), _ref("spare"))))
    assert _shares(it) == [("a", 1), ("other", 1)]
    assert _members(it) == [("a", 1, False), ("spare", 1, True)]


def test_a_fallback_alone_is_a_backend_like_any_other() -> None:
    given = backend("spare", _address("10.0.0.2", SPARE)) + backend("b", _name("b.com", SPARE))
    it = world(GIVEN + given + route("r", _rule(_ref("spare"), _ref("b"))))
    assert _shares(it) == [("spare", 1), ("b", 1)]
    apply(it, backend("a", _address("10.0.0.1")))
    apply(it, route("r", _rule(_ref("a", ", weight: 0"), _ref("spare"))))
    assert _shares(it) == [("spare", 1)]


def test_the_share_of_a_backend_that_leads_nowhere_is_not_taken_over() -> None:
    given = backend("a", _address("10.0.0.1")) + backend("spare", _address("10.0.0.2", SPARE))
    it = world(GIVEN + given + route("r", _rule(_ref("none"), _ref("a"), _ref("spare"))))
    assert _shares(it) == [("", 1), ("a", 1)]


@pytest.mark.parametrize(
    "filter_",
    [
        "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}",
        "{type: RequestMirror, requestMirror: {backendRef: {name: s2, port: 80}}}",
    ],
)
@pytest.mark.parametrize("whose", ["a", "spare"])
def test_filters_of_single_backends_leave_no_fallback(filter_: str, whose: str) -> None:
    given = backend("a", _address("10.0.0.1")) + backend("spare", _address("10.0.0.2", SPARE))
    of = {name: f", filters: [{filter_}]" if name == whose else "" for name in ("a", "spare")}
    rule = _rule(_ref("a", of["a"]), _ref("spare", of["spare"]))
    it = world(GIVEN + given + route("r", rule))
    assert _shares(it) == [("a", 1)]
    assert "backends of the rule have filters of their own" in _told(it)


def test_one_becomes_a_fallback_and_back() -> None:
    given = backend("a", _address("10.0.0.1")) + backend("b", _address("10.0.0.2"))
    it = world(GIVEN + given + route("r", _rule(_ref("a"), _ref("b"))))
    before = forward(it)
    assert _shares(it) == [("a", 1), ("b", 1)]
    apply(it, backend("b", _address("10.0.0.2", SPARE)))
    assert _members(it) == [("a", 1, False), ("b", 1, True)]
    apply(it, given)
    assert forward(it) == before


def _sticky(*references: str) -> str:
    return f"{{sessionPersistence: {{cookie: {{}}}}, backendRefs: [{', '.join(references)}]}}"


def _service(name: str, rest: str = "") -> str:
    return f"{{name: {name}, port: 80{rest}}}"


def test_backends_of_sessions_are_one_cluster_whatever_their_weight() -> None:
    rule = _sticky(_service("s1", ", weight: 3"), _service("s2"), _service("s3", ", weight: 0"))
    it = world(GIVEN + service("s3") + route("r", rule))
    assert _shares(it) == [("s1", 4)]
    assert _members(it) == [("s1", 3, False), ("s2", 1, False), ("s3", 0, False)]
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert [*actions.noted(forward(it))] == [
        "backend: Service default/s1, 75%",
        "backend: Service default/s2, 25%",
        "backend: Service default/s3, sessions that are with it",
    ]


@pytest.mark.parametrize(
    ("references", "shares"),
    [
        ((_service("s1"),), [("s1", 1)]),
        ((_service("s1"), _service("none")), [("s1", 1), ("", 1)]),
        ((_service("s1", ", weight: 0"), _service("s2", ", weight: 0")), []),
    ],
)
def test_what_is_alone_is_no_cluster_of_several(
    references: tuple[str, ...], shares: list[tuple[str, int]]
) -> None:
    it = world(GIVEN + route("r", _sticky(*references)))
    if not shares:
        assert routes(it, "*") == ["/ -> 500"]
        return
    assert _shares(it) == shares
    assert all(not share.cluster.members for share in forward(it).backends if share.cluster)


def test_a_backend_that_is_named_twice_is_one_member() -> None:
    rule = _sticky(_service("s1"), _service("s1", ", weight: 2"), _service("s2"))
    it = world(GIVEN + route("r", rule))
    assert _members(it) == [("s1", 3, False), ("s2", 1, False)]


def test_sessions_fail_over_too() -> None:
    given = backend("spare", _address("10.0.0.3", SPARE)) + backend("all", _address("10.0.0.4"))
    it = world(GIVEN + given + route("r", _sticky(_service("s1"), _ref("all"), _ref("spare"))))
    assert _members(it) == [("s1", 1, False), ("all", 1, False), ("spare", 1, True)]
    apply(it, route("r", _sticky(_ref("spare"), _service("s1", ", weight: 0"))))
    assert _members(it) == [("spare", 1, False), ("s1", 0, False)]


ADDED = "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}"


@pytest.mark.parametrize(
    ("second", "rest", "text"),
    [
        (service("s2", port="port: 80, appProtocol: kubernetes.io/h2c"), "", "is not spoken to as"),
        (
            service("s2") + policy("p", "hostname: a.com, wellKnownCACertificates: System", "s2"),
            "",
            "Service default/s2 is not spoken to as Service default/s1",
        ),
        (
            service("s2").replace("name: s2,", "name: s2, annotations: {ANNOTATION},", 1),
            "",
            "Service default/s2 has other limits than Service default/s1",
        ),
        (service("s2"), f", filters: [{ADDED}]", "sessionPersistence: requests of a session may"),
    ],
)
def test_sessions_do_not_hold_towards_a_backend_that_is_not_alike(
    second: str, rest: str, text: str
) -> None:
    second = second.replace("ANNOTATION", "projectcontour.io/max-requests: '7'")
    it = world(GIVEN + second + route("r", _sticky(_service("s1"), _service("s2", rest))))
    assert _shares(it) == [("s1", 1), ("s2", 1)]
    assert text in _told(it)
    assert "requests of a session may go to another backend" in _told(it)


def test_connections_fail_over_too() -> None:
    listeners = gateway("gw", http(), "{name: t, port: 90, protocol: TCP}")
    given = backend("a", _address("10.0.0.1")) + backend("spare", _address("10.0.0.2", SPARE))
    refs = f"{_ref('a')}, {_ref('spare')}"
    it = world(gateway_class() + listeners + given + stream_route("TCPRoute", "t", refs))
    found = it.ask(streams.rules, ObjectRef("TCPRoute", *key("t"))).stream
    assert found is not None
    (share,) = found.shares
    assert share.cluster is not None
    assert [m.is_fallback for m in share.cluster.members] == [False, True]


def test_a_rule_without_fallbacks_is_as_before() -> None:
    it = world(GIVEN + route("r", to("s1")))
    (found,) = forward(it).backends
    assert found.cluster is not None
    assert found.cluster.members == ()
