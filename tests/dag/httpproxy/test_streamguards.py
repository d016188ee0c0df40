"""Guards of a host whose connections nobody reads: they stand before them, or those are closed."""

import pytest

from dag import hosts, nodes, tables
from dag.engine.incremental import Engine
from tests.dag.httpproxy.manifests import configuration, extension, root, services, to
from tests.dag.world import FLEET, apply, messages, problems, routes, world
from tests.testbed import pairs

SERVICES = services("s1", "s2", "s3") + pairs.secret("cert") + extension("auth")
TCP = "tcpproxy: {services: [{name: s1, port: 80}]}"
TERMS = ["passthrough: true", "secretName: cert"]
CLOSED = nodes.Stream((nodes.WeightedCluster(None),))
SERVICE = "extensionService: {namespace: default, name: auth}"
COUNTED = configuration(f"rateLimitService: {{{SERVICE}}}")


def host(tls: str, guard: str, name: str = "root", rest: str = "") -> str:
    written = f"fqdn: {name}.com, tls: {{{tls}}}{', ' if guard else ''}{guard}"
    return root(name, TCP + rest).replace("fqdn: a.com", written)


def stream(engine: Engine, name: str = "root") -> nodes.Stream:
    key = nodes.HostKey(FLEET, "ingress_https", f"{name}.com")
    found = engine.answer(hosts.secure_host, key)
    assert found is not None
    assert found.stream is not None
    return found.stream


DENIED = nodes.IpFilter("DENY", (nodes.IpRange("10.0.0.0/8"),))
LOCAL = "rateLimitPolicy: {local: {requests: 5, unit: minute, burst: 2}}"


def of_entries(entries: str) -> str:
    return f"rateLimitPolicy: {{global: {{descriptors: [{{entries: [{entries}]}}]}}}}"


BY_HEADER = "{requestHeader: {headerName: X-A, descriptorKey: a}}"
BY_ADDRESS = "{remoteAddress: {}}, {genericKey: {value: v}}"


@pytest.mark.parametrize("tls", TERMS)
@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("ipDenyPolicy: [{source: Peer, cidr: 10.0.0.0/8}]", nodes.StreamGuards(DENIED)),
        (
            "ipAllowPolicy: [{source: Remote, cidr: '::1'}]",
            nodes.StreamGuards(
                nodes.IpFilter("ALLOW", (nodes.IpRange("::1/128", "Remote"),)),
            ),
        ),
        (
            LOCAL,
            nodes.StreamGuards(limit=nodes.ConnectionLimit(5, "minute", 2, "default/root")),
        ),
        (
            of_entries(BY_ADDRESS),
            nodes.StreamGuards(descriptors=((nodes.RemoteAddress(), nodes.GenericKey("v")),)),
        ),
        ("", None),
    ],
)
def test_guards_that_need_no_request_stand_before_connections(
    guard: str, expected: nodes.StreamGuards | None, tls: str
) -> None:
    engine = world(SERVICES + COUNTED + host(tls, guard))
    assert stream(engine).guards == expected
    assert problems(engine, "HTTPProxy", "root") == []


def test_equal_limits_of_two_hosts_are_two_limits() -> None:
    engine = world(SERVICES + host(TERMS[0], LOCAL) + host(TERMS[0], LOCAL, "other"))
    assert stream(engine) != stream(engine, "other")


PROVIDER = "jwtProviders: [{name: p, remoteJWKS: {uri: 'https://keys.com/x'}}]"
NEEDY = [
    (PROVIDER, "JWTVerificationError/JWTVerificationNotPermitted", "jwtProviders"),
    ("authorization: {extensionRef: {name: auth}}", "AuthError/AuthNotPermitted", "authorization"),
    (
        "corsPolicy: {allowOrigin: ['*'], allowMethods: [GET]}",
        "CORSError/CORSNotPermitted",
        "corsPolicy",
    ),
    ("maxRequestBytes: 9", "VirtualHostError/MaxRequestBytesNotPermitted", "maxRequestBytes"),
    (
        of_entries(BY_HEADER),
        "VirtualHostError/RateLimitPolicyNotValid",
        "rateLimitPolicy.global.descriptors",
    ),
]


@pytest.mark.parametrize("tls", TERMS)
@pytest.mark.parametrize(("guard", "reason", "where"), NEEDY)
def test_a_guard_that_needs_requests_closes_connections(
    guard: str, reason: str, where: str, tls: str
) -> None:
    engine = world(SERVICES + COUNTED + host(tls, guard))
    engine.write(tables.ACCEPTANCE_ASSUMED, (), True)  # as if the keys were there
    engine.settle()
    assert stream(engine) == CLOSED
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith(f"{reason}: spec.virtualhost.{where}: ")
    assert told.endswith("; connections are closed")


@pytest.mark.parametrize("tls", TERMS)
def test_routes_beside_it_keep_every_guard(tls: str) -> None:
    rest = f", routes: [{to('s2', 'permitInsecure: true')}]"
    guards = ", ".join(it for it, _, _ in NEEDY)
    engine = world(SERVICES + COUNTED + host(tls, guards, rest=rest))
    assert stream(engine) == CLOSED
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "root.com"))
    assert found is not None
    assert routes(engine, "root.com") == ["/ -> default/s2:80"]
    policies = found.policies
    assert policies is not None
    assert isinstance(policies.authorization, nodes.Authorization)
    assert isinstance(policies.cors, nodes.Cors)
    assert isinstance(policies.rate_limits, nodes.RateLimits)
    assert policies.body_limit == 9


@pytest.mark.parametrize(
    "guard",
    [
        "ipDenyPolicy: [{source: Peer, cidr: x}]",
        "rateLimitPolicy: {local: {requests: 4294967295, unit: hour, burst: 1}}",
        "authorization: {}",
    ],
)
def test_a_guard_that_cannot_be_built_closes_connections(guard: str) -> None:
    engine = world(SERVICES + host(TERMS[0], guard))
    assert stream(engine) == CLOSED


EVERYWHERE = configuration("globalExtAuth: {extensionRef: {name: auth, namespace: default}}")


def test_where_every_host_asks_a_stream_has_to_opt_out() -> None:
    off = "authorization: {authPolicy: {disabled: true}}"
    engine = world(SERVICES + EVERYWHERE + host(TERMS[0], "") + host(TERMS[0], off, "free"))
    assert stream(engine) == CLOSED
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("AuthError/AuthNotPermitted: spec.virtualhost.authorization: ")
    assert "authPolicy.disabled" in told
    assert (stream(engine, "free").guards, problems(engine, "HTTPProxy", "free")) == (None, [])
    apply(engine, configuration(""))
    assert stream(engine) == stream(engine, "free")
    assert problems(engine, "HTTPProxy", "root") == []


def test_while_who_is_asked_everywhere_is_gone_connections_are_closed() -> None:
    gone = configuration("globalExtAuth: {extensionRef: {name: gone, namespace: default}}")
    engine = world(SERVICES + gone + host(TERMS[0], ""))
    assert stream(engine) == CLOSED
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("AuthError/ExtensionServiceNotFound: spec.virtualhost.authorization: ")
    apply(engine, configuration(""))
    assert problems(engine, "HTTPProxy", "root") == []


def test_a_default_that_counts_by_headers_counts_no_connections_and_is_told() -> None:
    default = f"descriptors: [{{entries: [{BY_HEADER}]}}, {{entries: [{BY_ADDRESS}]}}]"
    spec = f"rateLimitService: {{{SERVICE}, defaultGlobalRateLimitPolicy: {{{default}}}}}"
    engine = world(SERVICES + configuration(spec) + host(TERMS[0], ""))
    expected = ((nodes.RemoteAddress(), nodes.GenericKey("v")),)
    assert stream(engine).guards == nodes.StreamGuards(descriptors=expected)
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("?SpecError/IgnoredField: spec.virtualhost.rateLimitPolicy: a default")
