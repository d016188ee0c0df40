"""Certificates of clients: what they have to show, and what happens where nobody can tell."""

import pytest

from crds.meta import NamespacedName, ObjectRef
from dag import hosts, nodes
from dag.engine.incremental import Engine
from tests.dag.httpproxy.manifests import root, services, to
from tests.dag.world import FLEET, apply, messages, problems, routes, secure, world
from tests.testbed import pairs

GIVEN = services("s1") + pairs.secret("cert") + pairs.authority("ca")
OPEN_ROUTE = to("s1", "permitInsecure: true")


def host(validation: str) -> str:
    tls = f"tls: {{secretName: cert, clientValidation: {{{validation}}}}}"
    text = root("root", f"routes: [{OPEN_ROUTE}]")
    return text.replace("fqdn: a.com", f"fqdn: a.com, {tls}")


def asked(engine: Engine) -> nodes.ClientValidation | None:
    found = engine.answer(hosts.secure_host, nodes.HostKey(FLEET, "ingress_https", "a.com"))
    return found.tls.clients if found is not None and found.tls is not None else None


CA = ObjectRef("Secret", "default", "ca")


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        ("caSecret: ca", nodes.ClientValidation(nodes.Trust((CA,)))),
        (
            "caSecret: ca, optionalClientCertificate: true",
            nodes.ClientValidation(nodes.Trust((CA,)), is_optional=True),
        ),
        (
            "skipClientCertValidation: true",
            nodes.ClientValidation(accepts_untrusted=True),
        ),
        (
            "caSecret: ca, crlSecret: crl, crlOnlyVerifyLeafCert: true",
            nodes.ClientValidation(
                nodes.Trust((CA,), NamespacedName("default", "crl")), only_leaf_revocations=True
            ),
        ),
        (
            "caSecret: ca, forwardClientCertificate: {subject: true, uri: true}",
            nodes.ClientValidation(
                nodes.Trust((CA,)), forward=nodes.ForwardedCertificate(subject=True, uri=True)
            ),
        ),
    ],
)
def test_what_clients_have_to_show(validation: str, expected: nodes.ClientValidation) -> None:
    engine = world(GIVEN + pairs.revocations("crl") + host(validation))
    assert asked(engine) == expected
    assert problems(engine, "HTTPProxy", "root") == []


INVALID = "TLSError/ClientValidationInvalid: spec.virtualhost.tls.clientValidation: "


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        ("{}", "TLSError/ClientValidationInvalid: spec.virtualhost.tls.clientValidation: "),
        ("caSecret: gone", f"{INVALID}Secret default/gone not found; "),
        ("caSecret: cert", f"{INVALID}Secret default/cert has no ca.crt; "),
        ("caSecret: a/b/c", "TLSError/ClientValidationInvalid: "),
        ("caSecret: ca, crlSecret: gone", f"{INVALID}Secret default/gone not found; "),
        ("caSecret: ca, crlSecret: ca", f"{INVALID}Secret default/ca has no crl.pem; "),
        ("caSecret: other/ca", "TLSError/DelegationNotPermitted: "),
        ("caSecret: ca, crlSecret: other/crl", "TLSError/DelegationNotPermitted: "),
    ],
)
def test_while_nobody_can_tell_nobody_gets_in(validation: str, expected: str) -> None:
    engine = world(GIVEN + host("" if validation == "{}" else validation))
    assert asked(engine) is None
    assert secure(engine, "a.com") == []
    assert routes(engine, "a.com") == ["/ -> 503"]
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith(expected)


@pytest.mark.parametrize("authority", ["", ", caSecret: ca"])
def test_that_nobody_looks_into_a_revocation_list_is_told(authority: str) -> None:
    asked_for = f"skipClientCertValidation: true, crlSecret: crl{authority}"
    engine = world(GIVEN + pairs.revocations("crl") + host(asked_for))
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.split(": ")[:3] == [
        "?SpecError/IgnoredField",
        "spec.virtualhost.tls.clientValidation.crlSecret",
        "has no effect",
    ]


def test_an_authority_that_comes_opens_the_host() -> None:
    engine = world(services("s1") + pairs.secret("cert") + host("caSecret: ca"))
    assert asked(engine) is None
    apply(engine, pairs.authority("ca"))
    assert asked(engine) is not None
    assert problems(engine, "HTTPProxy", "root") == []
    assert secure(engine, "a.com") == ["/ -> default/s1:80"]
