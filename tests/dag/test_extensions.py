"""Services that Envoy itself asks: the cluster made of them, and what their authors hear."""

import pytest

from crds.meta import NamespacedName
from dag import extensions, nodes
from tests.dag.httpproxy.manifests import extension, services
from tests.dag.world import key, messages, problems, world
from tests.testbed import pairs

SERVICES = services("s1", "s2", "s3")
S3 = nodes.ServicePort(NamespacedName("default", "s3"), 80)


def made(rest: str, more: str = "") -> nodes.ExtensionCluster:
    engine = world(SERVICES + more + extension("auth", rest))
    assert problems(engine, "ExtensionService", "auth") == []
    found = engine.answer(extensions.extension, key("auth"))
    assert found is not None
    assert found.cluster is not None
    return found.cluster


def test_without_a_word_it_speaks_http_2_over_tls() -> None:
    assert made("") == nodes.ExtensionCluster(
        NamespacedName("default", "auth"), (nodes.WeightedPort(S3),), "h2"
    )


def test_all_that_can_be_said_of_it() -> None:
    found = made(
        "protocol: http/1.1, loadBalancerPolicy: {strategy: Random}, "
        "timeoutPolicy: {idleConnection: 5s}, circuitBreakerPolicy: {maxConnections: 7}"
    )
    assert (found.protocol, found.balancing, found.idle_timeout) == ("http/1.1", "Random", 5.0)
    assert found.limits == nodes.CircuitBreakers(connections=7)


def test_its_certificate_is_checked() -> None:
    found = made("validation: {caSecret: ca, subjectName: auth.com}", pairs.authority("ca"))
    assert found.tls is not None
    assert found.tls.sni == "auth.com"
    assert found.tls.names == (nodes.AlternativeName("DNS", "auth.com"),)


def test_shares_are_told_by_weight() -> None:
    text = extension("auth").replace(
        "{name: s3, port: 80}",
        "{name: s1, port: 80, weight: 1}, {name: s2, port: 80}, {name: s3, port: 80, weight: 2}",
    )
    engine = world(SERVICES + text)
    found = engine.answer(extensions.extension, key("auth"))
    assert found is not None
    assert found.cluster is not None
    assert [(it.port.service.name, it.weight) for it in found.cluster.services] == [
        ("s1", 1),
        ("s3", 2),
    ]


EXTERNAL = """
---
apiVersion: v1
kind: Service
metadata: {name: s3}
spec: {type: ExternalName, externalName: b.com, ports: [{port: 80}]}
"""


@pytest.mark.parametrize(
    ("rest", "more", "expected"),
    [
        ("timeoutPolicy: {response: 25h}", "", "SpecError/TimeoutPolicyNotValid: "),
        (
            "protocol: h2c, validation: {caSecret: a, subjectName: b}",
            "",
            "SpecError/InconsistentProtocol: spec.validation: ",
        ),
        (
            "validation: {caSecret: gone, subjectName: b}",
            "",
            "SpecError/TLSUpstreamValidation: spec.validation.caSecret: ",
        ),
        (
            "validation: {caSecret: other/ca, subjectName: b}",
            pairs.authority("ca", "other"),
            "TLSError/CACertificateNotDelegated: spec.validation.caSecret: ",
        ),
        ("", EXTERNAL, "ServiceError/UnsupportedServiceType: spec.services[0]: "),
    ],
)
def test_what_cannot_be_asked_is_told(rest: str, more: str, expected: str) -> None:
    engine = world(SERVICES + more + extension("auth", rest))
    (told,) = messages(engine, "ExtensionService", "auth")
    assert told.startswith(expected)
    found = engine.answer(extensions.extension, key("auth"))
    assert found is not None
    assert found.cluster is None


def test_a_service_that_is_missing_is_told() -> None:
    engine = world(extension("auth"))
    (told,) = problems(engine, "ExtensionService", "auth")
    assert told == "ServiceError/ServiceUnresolvedReference"


@pytest.mark.parametrize(
    "rest", ["loadBalancerPolicy: {strategy: Cookie}", "timeoutPolicy: {idle: 5s}"]
)
def test_a_field_without_effect_is_told(rest: str) -> None:
    engine = world(SERVICES + extension("auth", rest))
    assert problems(engine, "ExtensionService", "auth") == ["?SpecError/IgnoredField"]
