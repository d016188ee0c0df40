"""Hosts, paths and backends of Ingresses, and who wins where several want the same."""

import pytest

from tests.dag.ingress.manifests import backend, ingress, path, rule, services
from tests.dag.world import apply, delete, messages, problems, routes, world

SERVICES = services("s1", "s2")
OLD, YOUNG = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("written", "kind", "expected"),
    [
        ("/x", "Exact", "=/x"),
        ("/x/", "Exact", "=/x/"),
        ("/x", "Prefix", "/x/..."),
        ("/x/", "Prefix", "/x/..."),
        ("/x//", "Prefix", "/x/..."),
        ("/", "Prefix", "/"),
        ("/x", "ImplementationSpecific", "/x"),
        ("/x/", "ImplementationSpecific", "/x/"),
        ("", "ImplementationSpecific", "/"),
        ("/x/.*", "ImplementationSpecific", "~/x/.*"),
        ("/[a-z]+", "ImplementationSpecific", "~/[a-z]+"),
    ],
)
def test_the_three_types_of_path(written: str, kind: str, expected: str) -> None:
    engine = world(SERVICES + ingress("i", f"rules: [{rule('a.com', path(written, 's1', kind))}]"))
    assert routes(engine, "a.com") == [f"{expected} -> default/s1:80"]
    assert problems(engine, "Ingress", "i") == []


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("/x(+", "ImplementationSpecific"),
        ("/x?y", "Prefix"),
        ("/x#y", "Exact"),
        ("/x?y", "ImplementationSpecific"),
        ("x", "ImplementationSpecific"),
        ("/x/../y", "Prefix"),
        ("/x/..", "Prefix"),
        ("/x y", "Exact"),
    ],
)
def test_a_path_that_cannot_be_served_is_dropped_alone(written: str, kind: str) -> None:
    bad, good = path(written, "s1", kind), path("/", "s2")
    engine = world(SERVICES + ingress("i", f"rules: [{rule('a.com', bad, good)}]"))
    assert routes(engine, "a.com") == ["/ -> default/s2:80"]
    (told,) = messages(engine, "Ingress", "i")
    assert told.startswith("PathError/PathNotValid: spec.rules[0].http.paths[0].path: ")


@pytest.mark.parametrize("host", ["a.com", "*.a.com"])
def test_hosts_may_be_wildcards(host: str) -> None:
    engine = world(SERVICES + ingress("i", f"rules: [{rule(host, path('/', 's1'))}]"))
    (route,) = routes(engine, host)
    assert route.startswith("/ ")
    assert route.endswith("-> default/s1:80")


def test_a_rule_without_a_host_is_for_every_host() -> None:
    engine = world(SERVICES + ingress("i", f"rules: [{rule('', path('/x', 's1'))}]"))
    assert routes(engine, "*") == ["/x/... -> default/s1:80"]


def test_two_rules_for_one_host_add_up() -> None:
    rules = f"{rule('a.com', path('/x', 's1'))}, {rule('a.com', path('/y', 's2'))}"
    engine = world(SERVICES + ingress("i", f"rules: [{rules}]"))
    assert routes(engine, "a.com") == ["/x/... -> default/s1:80", "/y/... -> default/s2:80"]


def test_the_default_backend_takes_what_no_host_takes() -> None:
    engine = world(SERVICES + ingress("i", f"defaultBackend: {backend('s1')}"))
    assert routes(engine, "*") == ["/ -> default/s1:80"]


def test_the_default_backend_does_not_take_other_paths_of_a_host_with_a_rule() -> None:
    spec = f"defaultBackend: {backend('s1')}, rules: [{rule('a.com', path('/x', 's2'))}]"
    engine = world(SERVICES + ingress("i", spec))
    assert routes(engine, "a.com") == ["/x/... -> default/s2:80"]
    assert routes(engine, "*") == ["/ -> default/s1:80"]


@pytest.mark.parametrize("default_is_older", [True, False])
def test_a_rule_without_a_host_wins_over_a_default_backend_of_any_age(
    default_is_older: bool,
) -> None:
    ages = (OLD, YOUNG) if default_is_older else (YOUNG, OLD)
    engine = world(
        SERVICES
        + ingress("d", f"defaultBackend: {backend('s1')}", created=ages[0])
        + ingress("r", f"rules: [{rule('', path('/', 's2'))}]", created=ages[1])
    )
    assert routes(engine, "*") == ["/ -> default/s2:80"]
    assert problems(engine, "Ingress", "d") == ["PathError/DuplicatePath"]
    assert problems(engine, "Ingress", "r") == []


def test_a_rule_of_the_same_ingress_overrides_its_default_backend_silently() -> None:
    spec = f"defaultBackend: {backend('s1')}, rules: [{rule('', path('/', 's2'))}]"
    engine = world(SERVICES + ingress("i", spec))
    assert routes(engine, "*") == ["/ -> default/s2:80"]
    assert problems(engine, "Ingress", "i") == []


def test_a_rule_without_paths_sends_its_host_to_the_default_backend() -> None:
    engine = world(
        SERVICES + ingress("i", f"defaultBackend: {backend('s1')}, rules: [{{host: a.com}}]")
    )
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]


def test_a_port_may_be_given_by_name() -> None:
    named = f"{{path: /, pathType: Prefix, backend: {backend('s1', 'name: web')}}}"
    engine = world(
        services("s1", port="name: web, port: 8080")
        + ingress("i", f"rules: [{rule('a.com', named)}]")
    )
    assert routes(engine, "a.com") == ["/ -> default/s1:8080"]


BOTH = "name: quic, port: 443, protocol: UDP}, {name: web, port: 443"
"""Ports with one number, as HTTP/3 and DNS have them; that for UDP is the first."""


@pytest.mark.parametrize("port", ["number: 443", "name: web"])
def test_of_two_ports_with_a_number_that_for_tcp_is_meant(port: str) -> None:
    found = f"{{path: /, pathType: Prefix, backend: {backend('s1', port)}}}"
    engine = world(services("s1", port=BOTH) + ingress("i", f"rules: [{rule('a.com', found)}]"))
    assert routes(engine, "a.com") == ["/ -> default/s1:443"]
    assert problems(engine, "Ingress", "i") == []


def test_a_port_for_udp_that_is_given_by_name_does_not_lead_to_the_one_for_tcp() -> None:
    found = f"{{path: /, pathType: Prefix, backend: {backend('s1', 'name: quic')}}}"
    engine = world(services("s1", port=BOTH) + ingress("i", f"rules: [{rule('a.com', found)}]"))
    assert routes(engine, "a.com") == ["/ -> 503"]
    (told,) = messages(engine, "Ingress", "i")
    assert "port quic of Service default/s1 is not a TCP port" in told


@pytest.mark.parametrize(
    ("spoken", "is_known"),
    [
        ("", True),
        ("HTTPS", True),
        ("kubernetes.io/h2c", True),
        ("kubernetes.io/ws", True),
        ("kubernetes.io/wss", False),
        ("grpc", False),
    ],
)
def test_an_app_protocol_that_is_not_known_is_told(spoken: str, is_known: bool) -> None:
    port = (
        f"name: a, port: 80, appProtocol: '{spoken}'}}, {{name: b, port: 3306, appProtocol: mysql"
    )
    found = ingress("i", f"rules: [{rule('a.com', path('/', 's1'))}]")
    told = messages(world(services("s1", port=port) + found), "Ingress", "i")
    text = f"port 80 of Service default/s1 has appProtocol '{spoken}', which is not known: it gets"
    text = f"spec.rules[0].http.paths[0].backend.service: {text} HTTP/1.1 without TLS"
    assert told == ([] if is_known else [f"?SpecError/IgnoredField: {text}"])


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (backend("gone"), "ServiceUnresolvedReference"),
        (backend("s1", "number: 81"), "ServiceUnresolvedReference"),
        (backend("s1", "name: web"), "ServiceUnresolvedReference"),
        ("{resource: {kind: Bucket, name: b}}", "UnsupportedBackend"),
    ],
)
def test_a_backend_that_cannot_take_traffic_answers_503_on_its_path_alone(
    written: str, reason: str
) -> None:
    bad = f"{{path: /bad, pathType: Prefix, backend: {written}}}"
    engine = world(SERVICES + ingress("i", f"rules: [{rule('a.com', bad, path('/', 's2'))}]"))
    assert routes(engine, "a.com") == ["/bad/... -> 503", "/ -> default/s2:80"]
    assert problems(engine, "Ingress", "i") == [f"BackendError/{reason}"]


def test_a_service_that_appears_late_wakes_the_path() -> None:
    engine = world(ingress("i", f"rules: [{rule('a.com', path('/', 's1'))}]"))
    assert routes(engine, "a.com") == ["/ -> 503"]
    apply(engine, SERVICES)
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "Ingress", "i") == []


def test_the_oldest_ingress_wins_a_path_and_the_others_serve_the_rest() -> None:
    engine = world(
        SERVICES
        + ingress("young", f"rules: [{rule('a.com', path('/', 's1'))}]", created=YOUNG)
        + ingress(
            "old", f"rules: [{rule('a.com', path('/', 's2'), path('/x', 's2'))}]", created=OLD
        )
        + ingress("third", f"rules: [{rule('a.com', path('/y', 's1'))}]", created=YOUNG)
    )
    assert routes(engine, "a.com") == [
        "/x/... -> default/s2:80",
        "/y/... -> default/s1:80",
        "/ -> default/s2:80",
    ]
    assert messages(engine, "Ingress", "young") == [
        "PathError/DuplicatePath: spec.rules[0].http.paths[0]: the same path of host a.com "
        "belongs to Ingress default/old, which takes precedence"
    ]
    assert problems(engine, "Ingress", "old") == []
    delete(engine, "Ingress", "old")
    assert problems(engine, "Ingress", "young") == []
    assert routes(engine, "a.com") == ["/y/... -> default/s1:80", "/ -> default/s1:80"]


def test_an_edit_of_one_host_leaves_the_other_hosts_of_an_ingress_alone() -> None:
    def hosts(changed: str) -> str:
        rules = [rule(f"{n}.com", path("/", changed if n == 3 else "s1")) for n in range(50)]
        return ingress("i", f"rules: [{', '.join(rules)}]")

    engine = world(SERVICES + hosts("s1"))
    before = engine.work.runs
    apply(engine, hosts("s2"))
    assert routes(engine, "3.com") == ["/ -> default/s2:80"]
    # The Ingress, its status, and what is told beside; of host 3: the merge, the claim, where it
    # lives, what it is.
    assert engine.work.runs - before <= 8


def test_the_cost_of_a_change_does_not_grow_with_the_number_of_ingresses() -> None:
    def work(size: int) -> tuple[int, int]:
        engine = world(
            SERVICES
            + "".join(
                ingress(f"i{n}", f"rules: [{rule(f'{n}.com', path('/', 's1'))}]")
                for n in range(size)
            )
        )
        runs, checks = engine.work.runs, engine.work.checks
        apply(engine, ingress("i3", f"rules: [{rule('3.com', path('/x', 's2'))}]"))
        apply(engine, ingress("new", f"rules: [{rule('new.com', path('/', 's1'))}]"))
        return engine.work.runs - runs, engine.work.checks - checks

    assert work(10) == work(200)
