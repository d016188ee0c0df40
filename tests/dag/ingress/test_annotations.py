"""What the annotations of an Ingress make of its routes and its TLS."""

import pytest

from dag import hosts, nodes
from tests.dag.ingress.manifests import configuration, ingress, path, rule, services
from tests.dag.world import FLEET, apply, messages, problems, tls, world
from tests.testbed import pairs

SERVICES = services("s1")
RULES = f"rules: [{rule('a.com', path('/', 's1'), path('/ws', 's1'))}]"
TLS = "tls: [{hosts: [a.com], secretName: cert}]"


def forwarded(annotations: str) -> dict[str, nodes.Forward]:
    """What happens to requests, by path, and nothing to complain about."""
    engine = world(SERVICES + ingress("i", RULES, annotations=annotations))
    assert problems(engine, "Ingress", "i") == []
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "a.com"))
    assert found is not None
    actions = {
        it.match.path.path: it.action
        for it in found.routes
        if isinstance(it.action, nodes.Forward) and not isinstance(it.match.path, nodes.Regex)
    }
    assert len(actions) == 2
    return actions


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ("", None),
        ("projectcontour.io/response-timeout: 30s", 30.0),
        ("projectcontour.io/response-timeout: infinity", 0.0),
        ("projectcontour.io/response-timeout: 0s", None),
        ("projectcontour.io/request-timeout: 1m", 60.0),
        (
            "projectcontour.io/request-timeout: 1m, projectcontour.io/response-timeout: 30s",
            30.0,
        ),
    ],
)
def test_a_timeout_is_for_every_path(annotations: str, expected: float | None) -> None:
    assert [it.timeout for it in forwarded(annotations).values()] == [expected, expected]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ("projectcontour.io/num-retries: '3'", None),
        ("projectcontour.io/retry-on: '5xx'", nodes.Retry(("5xx",), 1)),
        (
            "projectcontour.io/retry-on: 'gateway-error, reset', "
            "projectcontour.io/num-retries: '3', projectcontour.io/per-try-timeout: 500ms",
            nodes.Retry(("gateway-error", "reset"), 3, 0.5),
        ),
        (
            "projectcontour.io/retry-on: 5xx, projectcontour.io/num-retries: '-1'",
            nodes.Retry(("5xx",), 0),
        ),
        (
            "projectcontour.io/retry-on: 5xx, projectcontour.io/num-retries: '0'",
            nodes.Retry(("5xx",), 1),
        ),
    ],
)
def test_retries_are_on_where_it_is_said_after_what(
    annotations: str, expected: nodes.Retry | None
) -> None:
    assert forwarded(annotations)["/"].retry == expected


@pytest.mark.parametrize(
    ("paths", "expected"),
    [("/ws", {"/ws"}), ("/, /ws", {"/", "/ws"}), ("/ws,", {"/ws"}), ("", set())],
)
def test_paths_that_are_listed_switch_to_websocket(paths: str, expected: set[str]) -> None:
    found = forwarded(f"projectcontour.io/websocket-routes: '{paths}'")
    assert {it for it, action in found.items() if action.websockets} == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("projectcontour.io/response-timeout", "soon"),
        ("projectcontour.io/response-timeout", "-1s"),
        ("projectcontour.io/request-timeout", "25h"),
        ("projectcontour.io/per-try-timeout", "1"),
        ("projectcontour.io/retry-on", "5xx, rain"),
        ("projectcontour.io/num-retries", "many"),
        ("projectcontour.io/num-retries", "-2"),
        ("projectcontour.io/num-retries", "4294967296"),
        ("projectcontour.io/tls-minimum-protocol-version", "1.1"),
        ("projectcontour.io/tls-maximum-protocol-version", "3"),
        ("projectcontour.io/websocket-routes", "/ws/"),
        ("ingress.kubernetes.io/force-ssl-redirect", "True"),
        ("kubernetes.io/ingress.allow-http", "no"),
    ],
)
def test_a_value_that_makes_no_sense_has_no_effect_and_is_told(name: str, value: str) -> None:
    written = ingress("i", f"{RULES}, {TLS}", annotations=f"{name}: '{value}'")
    engine = world(SERVICES + pairs.secret("cert") + written)
    (told,) = messages(engine, "Ingress", "i")
    assert told.startswith(f"?SpecError/IgnoredField: metadata.annotations[{name}]: ")
    assert told.endswith("; it has no effect")
    assert tls(engine, "a.com") == "default/cert 1.2-1.3"
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "a.com"))
    assert found is not None
    (action, _) = (it.action for it in found.routes)
    assert isinstance(action, nodes.Forward)
    assert (action.timeout, action.retry, action.websockets) == (None, None, False)


@pytest.mark.parametrize(
    ("annotations", "everywhere", "expected"),
    [
        ("projectcontour.io/tls-minimum-protocol-version: '1.3'", "", "default/cert 1.3-1.3"),
        ("projectcontour.io/tls-maximum-protocol-version: '1.2'", "", "default/cert 1.2-1.2"),
        ("", "minimumProtocolVersion: '1.3'", "default/cert 1.3-1.3"),
        (
            "projectcontour.io/tls-minimum-protocol-version: '1.2'",
            "minimumProtocolVersion: '1.3'",
            "default/cert 1.3-1.3",
        ),
    ],
)
def test_versions_of_tls_are_those_that_the_ingress_and_the_configuration_allow(
    annotations: str, everywhere: str, expected: str
) -> None:
    written = ingress("i", f"{RULES}, {TLS}", annotations=annotations)
    settings = configuration(f"envoy: {{listener: {{tls: {{{everywhere}}}}}}}")
    engine = world(SERVICES + pairs.secret("cert") + settings + written)
    assert tls(engine, "a.com") == expected
    assert problems(engine, "Ingress", "i") == []


def test_an_ingress_that_leaves_no_version_harms_no_other() -> None:
    versions = (
        "projectcontour.io/tls-minimum-protocol-version: '1.3', "
        "projectcontour.io/tls-maximum-protocol-version: '1.2'"
    )
    bad = ingress("bad", f"{RULES}, {TLS}", annotations=versions)
    other = (
        f"rules: [{rule('b.com', path('/', 's1'))}], tls: [{{hosts: [b.com], secretName: cert}}]"
    )
    engine = world(SERVICES + pairs.secret("cert") + bad + ingress("good", other))
    assert problems(engine, "Ingress", "bad") == ["TLSError/TLSConfigNotValid"]
    assert (tls(engine, "a.com"), tls(engine, "b.com")) == ("", "default/cert 1.2-1.3")


def test_a_secret_of_another_namespace_has_to_be_delegated() -> None:
    elsewhere = "projectcontour.io/tls-cert-namespace: certs"
    written = ingress("i", f"{RULES}, {TLS}", annotations=elsewhere)
    engine = world(SERVICES + pairs.secret("cert", "certs") + written)
    assert tls(engine, "a.com") == ""
    assert problems(engine, "Ingress", "i") == ["TLSError/DelegationNotPermitted"]
    apply(
        engine,
        """
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: d, namespace: certs}
spec: {delegations: [{secretName: cert, targetNamespaces: [default]}]}
""",
    )
    assert tls(engine, "a.com") == "certs/cert 1.2-1.3"
    assert problems(engine, "Ingress", "i") == []
