"""HTTPRouteFilters with credentials: what routes say of them, and what closes their rules."""

import base64

import pytest

from crds.meta import NamespacedName, ObjectRef
from dag import hosts, nodes
from dag.engine.incremental import Engine
from dag.gateway.injections import known
from dag.problems import Problem
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import route, to
from tests.dag.gateway.test_routefilters import CLOSED, GIVEN, core, filter_, filtered, grpc, ref
from tests.dag.world import FLEET, apply, delete, routes, world

KEY = NamespacedName("default", "it")
REF = ObjectRef("HTTPRouteFilter", *KEY)
ROUTE = route("r", filtered(), to("s2"))
PLAIN = "credentialInjection: {credential: {valueRef: {name: key}}}"
ELSEWHERE = "credentialInjection: {credential: {valueRef: {name: key, namespace: other}}}"
GRANT = """
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: g, namespace: other}
spec:
  from: [{group: gateway.envoyproxy.io, kind: HTTPRouteFilter, namespace: default}]
  to: [{group: "", kind: Secret}]
"""


def secret(
    value: bytes = b"Bearer one\n",
    namespace: str = "default",
    more: str = "",
    entry: str = "credential",
) -> str:
    data = base64.b64encode(value).decode()
    return (
        f"---\n{{apiVersion: v1, kind: Secret, metadata: {{name: key, namespace: {namespace}}}, "
        f"data: {{{entry}: {data}}}{more}}}\n"
    )


def injected(engine: Engine) -> list[nodes.Injection | None]:
    """What the backends of each route get."""
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "*"))
    assert found is not None
    return [
        share.cluster.injection
        for it in found.routes
        if isinstance(it.action, nodes.Forward)
        for share in it.action.backends
        if share.cluster is not None
    ]


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        (filter_(PLAIN) + secret(), nodes.Injection(REF, "authorization")),
        (
            filter_(PLAIN.replace("{cred", "{header: X-Key, overwrite: true, cred", 1)) + secret(),
            nodes.Injection(REF, "x-key", overwrites=True),
        ),
        (
            filter_(ELSEWHERE) + secret(namespace="other") + GRANT,
            nodes.Injection(REF, "authorization"),
        ),
    ],
)
def test_requests_get_a_credential(manifests: str, expected: nodes.Injection) -> None:
    it = world(GIVEN + manifests + ROUTE)
    assert injected(it) == [expected, None]
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert it.answer(known, KEY) == nodes.Credential(b"Bearer one")


@pytest.mark.parametrize(
    ("manifests", "told"),
    [
        (
            filter_(PLAIN),
            "spec.credentialInjection.credential.valueRef: Secret default/key not found",
        ),
        (filter_(PLAIN) + secret(entry="other"), "Secret default/key has no credential"),
        (filter_(PLAIN) + secret(b"\n"), "has a credential that is empty, or no value of a header"),
        (
            filter_(PLAIN) + secret(b"a\nb"),
            "has a credential that is empty, or no value of a header",
        ),
        (
            filter_(PLAIN) + secret(b"\xff"),
            "has a credential that is empty, or no value of a header",
        ),
        (
            filter_(PLAIN) + secret(more=", type: example.com/other"),
            "Secret default/key is of type example.com/other, not Opaque",
        ),
        (
            filter_(ELSEWHERE) + secret(namespace="other"),
            "no ReferenceGrant in namespace other permits Secret other/key",
        ),
        (
            filter_(PLAIN.replace("name: key", "name: key, kind: ConfigMap")) + secret(),
            "kind ConfigMap is not supported; use Secret",
        ),
        (
            filter_(PLAIN.replace("{cred", "{header: X-Forwarded-For, cred", 1)) + secret(),
            "spec.credentialInjection.header: 'X-Forwarded-For' tells backends of the client",
        ),
        (
            filter_(PLAIN.replace("{cred", "{header: Host, cred", 1)) + secret(),
            "spec.credentialInjection.header: 'Host' cannot be changed here",
        ),
        (
            filter_(f"{PLAIN}, directResponse: {{}}") + secret(),
            "a rule that is answered by directResponse sends no requests on",
        ),
    ],
)
def test_what_cannot_be_injected_closes_the_rule(manifests: str, told: str) -> None:
    it = world(GIVEN + manifests + ROUTE)
    assert routes(it, "*") == CLOSED
    assert status_text.route(it, "r")[1] == "ResolvedRefs=False/UnsupportedValue"
    assert told in status_text.route_messages(it, "r")[1]


def test_a_rule_is_closed_while_its_secret_is_missing() -> None:
    it = world(GIVEN + filter_(PLAIN) + secret() + ROUTE)
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"
    delete(it, "Secret", "key")
    assert routes(it, "*") == CLOSED
    apply(it, secret())
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"


def test_a_new_credential_changes_no_route_and_is_in_none() -> None:
    it = world(GIVEN + filter_(PLAIN) + secret(b"Bearer s3cret") + ROUTE)
    key = nodes.HostKey(FLEET, "ingress_http", "*")
    before = it.answer(hosts.virtual_host, key)
    credential = it.answer(known, KEY)
    assert credential == nodes.Credential(b"Bearer s3cret")
    assert "s3cret" not in repr(before) + repr(credential)
    apply(it, secret(b"Bearer n3w"))
    assert it.answer(hosts.virtual_host, key) is before
    assert it.answer(known, KEY) == nodes.Credential(b"Bearer n3w")


def test_two_filters_with_credentials_close_a_rule_and_a_url_rewrite_does_not() -> None:
    other = filter_(PLAIN.replace("{cred", "{header: x-key, cred", 1), "other")
    both = route("r", filtered(ref(), ref("other")), to("s2"))
    it = world(GIVEN + filter_(PLAIN) + other + secret() + both)
    assert "has credentialInjection, too" in status_text.route_messages(it, "r")[1]
    rewritten = route("r", filtered(core("hostname: b.com"), ref()), to("s2"))
    it = world(GIVEN + filter_(PLAIN) + secret() + rewritten)
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"


def test_a_grpc_route_with_a_credential_is_closed() -> None:
    it = world(GIVEN + filter_(PLAIN) + secret() + grpc())
    assert injected(it) == []


def test_the_reason_is_told_without_the_credential() -> None:
    it = world(GIVEN + filter_(PLAIN) + secret(b"s3\ncret") + ROUTE)
    found = it.answer(known, KEY)
    assert isinstance(found, Problem)
    assert "s3" not in found.message
