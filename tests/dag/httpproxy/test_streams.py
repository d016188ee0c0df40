"""Bytes of TLS hosts that nobody reads: passed through, or after TLS is terminated."""

import pytest

from dag import hosts, nodes
from dag.engine.incremental import Engine
from tests.dag.httpproxy.manifests import on, proxy, root, services, to
from tests.dag.world import FLEET, apply, messages, problems, routes, secure, world
from tests.testbed import pairs

SERVICES = services("s1", "s2")
CLOSED = nodes.Stream((nodes.WeightedCluster(None),))
PASSED, TERMINATED = "tls: {passthrough: true}", "tls: {secretName: cert}"


def tcp(service: str, rest: str = "") -> str:
    return f"tcpproxy: {{services: [{{name: {service}, port: 80}}]{', ' + rest if rest else ''}}}"


def host(tls: str, rest: str, name: str = "root") -> str:
    return root(name, rest).replace("fqdn: a.com", f"fqdn: a.com, {tls}")


def made(text: str) -> Engine:
    return world(SERVICES + pairs.secret("cert") + text)


def stream(engine: Engine) -> nodes.Stream | None:
    found = engine.answer(hosts.secure_host, nodes.HostKey(FLEET, "ingress_https", "a.com"))
    return found.stream if found is not None else None


def shares(engine: Engine) -> list[tuple[str, int]]:
    found = stream(engine)
    assert found is not None
    return [
        (it.cluster.port.service.name if it.cluster else "nowhere", it.weight)
        for it in found.shares
    ]


@pytest.mark.parametrize("tls", [PASSED, TERMINATED])
def test_connections_go_to_the_service(tls: str) -> None:
    engine = made(host(tls, tcp("s1")))
    assert shares(engine) == [("s1", 1)]
    assert problems(engine, "HTTPProxy", "root") == []
    found = engine.answer(hosts.secure_host, nodes.HostKey(FLEET, "ingress_https", "a.com"))
    assert found is not None
    assert (found.tls is None) == (tls == PASSED)


@pytest.mark.parametrize(
    ("backends", "expected"),
    [
        ("{name: s1, port: 80}, {name: s2, port: 80}", [("s1", 1), ("s2", 1)]),
        ("{name: s1, port: 80, weight: 3}, {name: s2, port: 80}", [("s1", 3)]),
        (
            "{name: s1, port: 80, weight: 4294967295}, {name: s2, port: 80, weight: 1}",
            [("s1", 2147483647), ("s2", 1)],
        ),
        (
            "{name: s1, port: 80, weight: 3}, {name: gone, port: 80, weight: 1}",
            [("s1", 3), ("nowhere", 1)],
        ),
    ],
)
def test_connections_are_shared_by_weight_and_those_for_nobody_are_closed(
    backends: str, expected: list[tuple[str, int]]
) -> None:
    assert shares(made(host(PASSED, f"tcpproxy: {{services: [{backends}]}}"))) == expected


@pytest.mark.parametrize(
    ("backends", "expected"),
    [
        ("{name: s1, port: 80}", [("s1", 1)]),
        ("{name: s1, port: 80}, {name: s2, port: 80}", [("s1", 1), ("s2", 1)]),
        ("{name: s1, port: 80, weight: 3}, {name: s2, port: 80}", [("s1", 3)]),
    ],
)
def test_a_mirror_changes_no_share_of_connections(
    backends: str, expected: list[tuple[str, int]]
) -> None:
    mirror = "{name: s2, port: 80, mirror: true, weight: 10}"
    engine = made(host(PASSED, f"tcpproxy: {{services: [{mirror}, {backends}]}}"))
    assert shares(engine) == expected
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("?TCPProxyError/IgnoredField: spec.tcpproxy.services[0].mirror: ")


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("requestHeadersPolicy: {set: [{name: x-a, value: b}]}", "requestHeadersPolicy"),
        ("requestHeadersPolicy: {remove: [x-a]}", "requestHeadersPolicy"),
        ("requestHeadersPolicy: {set: [{name: Host, value: b.com}]}", ""),
        ("responseHeadersPolicy: {remove: [x-a]}", "responseHeadersPolicy"),
        ("responseHeadersPolicy: {}", ""),
        ("cookieRewritePolicies: [{name: a, secure: true}]", "cookieRewritePolicies"),
    ],
)
def test_what_changes_requests_is_told_to_have_no_effect(field: str, told: str) -> None:
    engine = made(host(PASSED, f"tcpproxy: {{services: [{{name: s1, port: 80, {field}}}]}}"))
    at = f"?TCPProxyError/IgnoredField: spec.tcpproxy.services[0].{told}: "
    found = messages(engine, "HTTPProxy", "root")
    assert [it.startswith(at) for it in found] == [True] * bool(told)
    assert shares(engine) == [("s1", 1)]


def test_connections_are_closed_where_all_services_are_mirrors() -> None:
    engine = made(host(PASSED, "tcpproxy: {services: [{name: s1, port: 80, mirror: true}]}"))
    assert stream(engine) == CLOSED
    (told, _) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("TCPProxyError/NothingDefined: spec.tcpproxy.services: ")


def test_a_check_of_connections_and_a_strategy() -> None:
    rest = "healthCheckPolicy: {intervalSeconds: 5}, loadBalancerPolicy: {strategy: Random}"
    found = stream(made(host(PASSED, tcp("s1", rest))))
    assert found is not None
    (share,) = found.shares
    assert share.cluster is not None
    assert share.cluster.health_check == nodes.HealthCheck(interval=5.0)
    assert share.cluster.balancing == "Random"


def test_there_is_nothing_to_hash_in_connections() -> None:
    engine = made(host(PASSED, tcp("s1", "loadBalancerPolicy: {strategy: Cookie}")))
    assert shares(engine) == [("s1", 1)]
    assert problems(engine, "HTTPProxy", "root") == ["?TCPProxyError/IgnoredField"]


def test_routes_beside_a_stream_are_those_of_plain_http() -> None:
    written = f"{tcp('s1')}, routes: [{to('s2')}, {on('/x', 's2', 'permitInsecure: true')}]"
    engine = made(host(PASSED, written))
    assert routes(engine, "a.com") == ["/x -> default/s2:80", "/ -> 301 https"]
    assert secure(engine, "a.com") == []


@pytest.mark.parametrize("field", ["include", "includes"])
def test_a_stream_may_be_that_of_another(field: str) -> None:
    including = f"tcpproxy: {{{field}: {{name: child, namespace: team}}}}"
    text = host(PASSED, including) + services("s1", namespace="team")
    engine = made(text + proxy("team/child", tcp("s1")))
    found = stream(engine)
    assert found is not None
    assert found.shares[0].cluster is not None
    assert found.shares[0].cluster.port.service.namespace == "team"
    assert problems(engine, "HTTPProxy", "team/child") == []
    apply(engine, proxy("team/child", tcp("gone")))
    assert problems(engine, "HTTPProxy", "team/child") == [
        "TCPProxyError/ServiceUnresolvedReference"
    ]
    assert problems(engine, "HTTPProxy", "root") == []


@pytest.mark.parametrize(
    ("tls", "written", "others", "expected"),
    [
        ("", tcp("s1"), "", "TCPProxyError/TLSMustBeConfigured: spec.tcpproxy: "),
        (PASSED, "tcpproxy: {}", "", "TCPProxyError/NothingDefined: spec.tcpproxy: "),
        (
            PASSED,
            tcp("s1", "include: {name: child}"),
            "",
            "TCPProxyError/NoServicesAndInclude: spec.tcpproxy: ",
        ),
        (
            PASSED,
            "tcpproxy: {include: {name: child}}",
            "",
            "TCPProxyIncludeError/IncludeNotFound: spec.tcpproxy.include: ",
        ),
        (
            PASSED,
            "tcpproxy: {include: {name: root}}",
            "",
            "TCPProxyIncludeError/RootIncludesRoot: spec.tcpproxy.include: ",
        ),
        (
            PASSED,
            "tcpproxy: {include: {name: other}}",
            root("other", f"routes: [{to('s1')}]", fqdn="b.com"),
            "TCPProxyIncludeError/RootIncludesRoot: spec.tcpproxy.include: ",
        ),
        (
            "tls: {secretName: gone}",
            tcp("s1"),
            "",
            "TLSError/SecretNotValid: spec.virtualhost.tls.secretName: ",
        ),
        (
            "tls: {secretName: cert, clientValidation: {caSecret: gone}}",
            tcp("s1"),
            "",
            "TLSError/ClientValidationInvalid: spec.virtualhost.tls.clientValidation: ",
        ),
        (
            "tls: {passthrough: true, secretName: cert}",
            tcp("s1"),
            "",
            "TLSError/TLSConfigNotValid: spec.virtualhost.tls: ",
        ),
        (
            "tls: {passthrough: true, clientValidation: {caSecret: ca}}",
            tcp("s1"),
            "",
            "TLSError/TLSIncompatibleFeatures: spec.virtualhost.tls: ",
        ),
    ],
)
def test_a_stream_that_leads_nowhere_is_closed_and_told(
    tls: str, written: str, others: str, expected: str
) -> None:
    text = host(tls, written) if tls else root("root", written)
    engine = made(text + others)
    assert stream(engine) == (CLOSED if tls else None)
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith(expected)
    assert "clientValidation" not in tls or told.endswith("connections of a tcpproxy are closed")


def test_passthrough_without_a_stream_is_told() -> None:
    engine = made(host(PASSED, f"routes: [{to('s1')}]"))
    assert stream(engine) is None
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("TLSError/TLSConfigNotValid: spec.virtualhost.tls: ")


def test_beside_a_stream_that_leads_nowhere_plain_http_is_not_redirected() -> None:
    written = f"tcpproxy: {{}}, routes: [{to('s2')}, {on('/x', 's2', 'permitInsecure: true')}]"
    assert routes(made(host(PASSED, written)), "a.com") == ["/x -> default/s2:80", "/ -> 503"]


def test_an_include_of_what_has_no_stream_is_told_to_the_includer_and_harms_nobody_else() -> None:
    child = proxy("team/child", f"routes: [{to('s1')}]") + services("s1", namespace="team")
    good = root("team/good", "includes: [{name: child}]", fqdn="b.com")
    included = "tcpproxy: {include: {name: child, namespace: team}}"
    engine = made(host(PASSED, included) + good + child)
    assert stream(engine) == CLOSED
    assert messages(engine, "HTTPProxy", "root") == [
        "TCPProxyIncludeError/NothingDefined: spec.tcpproxy.include: "
        "HTTPProxy team/child has no tcpproxy"
    ]
    assert messages(engine, "HTTPProxy", "team/child") == []
    apply(engine, proxy("team/child", "tcpproxy: {}"))
    assert problems(engine, "HTTPProxy", "team/child") == ["TCPProxyError/NothingDefined"]


def test_a_cycle_of_children_is_told_where_it_closes() -> None:
    engine = made(
        host(PASSED, "tcpproxy: {include: {name: one}}")
        + proxy("one", "tcpproxy: {include: {name: two}}")
        + proxy("two", "tcpproxy: {include: {name: one}}")
    )
    assert messages(engine, "HTTPProxy", "two") == [
        "TCPProxyIncludeError/IncludeCreatesCycle: spec.tcpproxy.include: include creates a cycle: "
        "default/one -> default/two -> default/one"
    ]
