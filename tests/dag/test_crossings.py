"""What is used of other namespaces: told with the field and what permits it, and only where it is
permitted and ours."""

import pytest

from crds.meta import ObjectRef
from dag.crossings import Crossing
from dag.engine.incremental import Engine
from dag.plan import CROSSINGS
from tests.dag.gateway import test_clienttrafficpolicies as clients
from tests.dag.gateway.manifests import (
    backend,
    gateway,
    gateway_class,
    grant,
    https,
    route,
    to,
)
from tests.dag.gateway.test_envoybackends import NAME, TO
from tests.dag.gateway.test_securitypolicies import policy
from tests.dag.world import apply, delete, key, world

GIVEN = gateway_class() + gateway("gw")
DELEGATION = """
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: d, namespace: certs}
spec: {delegations: [{secretName: cert, targetNamespaces: [default]}]}
"""
BY_DELEGATION = (ObjectRef("TLSCertificateDelegation", "certs", "d"),)
BY_GRANT = (ObjectRef("ReferenceGrant", "certs", "g"),)
CERT = ObjectRef("Secret", "certs", "cert")


def httpproxy(spec: str) -> str:
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: it, namespace: default}}
spec: {spec}
"""


def extension_service(validation: str) -> str:
    return f"""
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {{name: it, namespace: default}}
spec: {{services: [{{name: s1, port: 80}}], validation: {validation}}}
"""


INGRESS = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: it
  namespace: default
  annotations: {projectcontour.io/tls-cert-namespace: certs}
spec:
  tls: [{hosts: [a.com], secretName: cert}]
  defaultBackend: {service: {name: s1, port: {number: 80}}}
"""

TLS = "virtualhost: {fqdn: a.com, tls: {secretName: certs/cert"
CHECKED = "validation: {caSecret: certs/cert, subjectName: a.com}"
VALIDATION = "{caSecret: certs/cert, subjectName: a.com}"


def found(it: Engine, kind: str, name: str = "it") -> tuple[Crossing, ...] | None:
    return it.answer(CROSSINGS[kind], key(name))


@pytest.mark.parametrize(
    ("kind", "text", "fields"),
    [
        ("HTTPProxy", httpproxy(f"{{{TLS}}}}}}}"), ["virtualhost.tls.secretName"]),
        (
            "HTTPProxy",
            httpproxy(f"{{{TLS}, clientValidation: {{caSecret: certs/cert}}}}}}}}"),
            ["virtualhost.tls.clientValidation.caSecret", "virtualhost.tls.secretName"],
        ),
        (
            "HTTPProxy",
            httpproxy(
                f"{{routes: [{{services: [{{name: a, port: 80, validation: {VALIDATION}}}]}}]}}"
            ),
            ["routes[0].services[0].validation.caSecret"],
        ),
        ("ExtensionService", extension_service(VALIDATION), ["validation.caSecret"]),
        ("Ingress", INGRESS, ["tls[0].secretName"]),
    ],
)
def test_what_is_delegated_is_told(kind: str, text: str, fields: list[str]) -> None:
    it = world(text)
    assert found(it, kind) is None, "nobody permits it"
    apply(it, DELEGATION)
    assert found(it, kind) == tuple(Crossing(f"spec.{at}", CERT, BY_DELEGATION) for at in fields)
    delete(it, "TLSCertificateDelegation", "certs/d")
    assert found(it, kind) is None
    apply(it, DELEGATION)
    delete(it, kind, "it")
    assert found(it, kind) is None


def granted(kind: str, target: str) -> str:
    """Objects of a kind in `default` may use those of a kind in `certs`."""
    is_theirs = kind in {"SecurityPolicy", "ClientTrafficPolicy", "HTTPRouteFilter", "Backend"}
    group = "gateway.envoyproxy.io" if is_theirs else "gateway.networking.k8s.io"
    from_ = f"group: {group}, kind: {kind}, namespace: default"
    return grant("g", "certs", from_, f"group: '', kind: {target}")


BACKEND = "{name: s1, namespace: certs, port: 80}"
MIRROR = f"filters: [{{type: RequestMirror, requestMirror: {{backendRef: {BACKEND}}}}}]"
AUTHORITY = "{group: '', kind: Secret, name: cert, namespace: certs}"
FRONTEND = f"tls: {{frontend: {{default: {{validation: {{caCertificateRefs: [{AUTHORITY}]}}}}}}}}"
DECIDING = (
    "{name: http, port: 80, protocol: HTTP, filters: {requests: [{type: ExternalAuth,"
    f" externalAuth: {{protocol: GRPC, grpc: {{}}, backendRef: {BACKEND}}}}}]}}}}"
)
USERS = "basicAuth: {users: {name: cert, namespace: certs}}"
KEYED = (
    "apiKeyAuth: {credentialRefs: [{name: cert, namespace: certs}], extractFrom: [{params: [k]}]}"
)
ASKED = f"extAuth: {{grpc: {{backendRefs: [{BACKEND}]}}}}"
SHOWN = "tls: {backend: {clientCertificateRef: {name: cert, namespace: certs}}}"


SECRET = "{name: cert, namespace: certs}"
CERTIFICATE = f"clientCertificateRef: {SECRET}"
NAMING = (
    "{type: ExtensionRef, "
    "extensionRef: {group: gateway.envoyproxy.io, kind: HTTPRouteFilter, name: it}}"
)
INJECTED = f"""
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: HTTPRouteFilter
metadata: {{name: it, namespace: default}}
spec: {{credentialInjection: {{credential: {{valueRef: {SECRET}}}}}}}
"""


def login(secret: str, client: str = "clientID: me", servers: str = "") -> str:
    """A login that takes its secret, its client or its server from elsewhere."""
    given = f", backendRefs: [{servers}]" if servers else ""
    provider = f"{{issuer: 'https://idp.com'{given}}}"
    return f"oidc: {{provider: {provider}, {client}, clientSecret: {secret}}}"


@pytest.mark.parametrize(
    ("kind", "text", "target", "field"),
    [
        ("HTTPRoute", route("it", to(BACKEND)), "Service", "rules[0].backendRefs[0]"),
        (
            "HTTPRoute",
            route("it", f"{{backendRefs: [{{name: s2, port: 80}}], {MIRROR}}}"),
            "Service",
            "rules[0].filters[0].requestMirror.backendRef",
        ),
        (
            "Gateway",
            gateway("it", https(secret="certs/cert")),
            "Secret",
            "listeners[0].tls.certificateRefs[0]",
        ),
        (
            "Gateway",
            gateway("it", rest=FRONTEND),
            "Secret",
            "tls.frontend.default.validation.caCertificateRefs[0]",
        ),
        (
            "Gateway",
            gateway("it", DECIDING),
            "Service",
            "listeners[0].filters.requests[0].externalAuth.backendRef",
        ),
        (
            "SecurityPolicy",
            route("r") + policy("it", ASKED),
            "Service",
            "extAuth.grpc.backendRefs[0]",
        ),
        ("SecurityPolicy", route("r") + policy("it", USERS), "Secret", "basicAuth.users"),
        (
            "SecurityPolicy",
            route("r") + policy("it", KEYED),
            "Secret",
            "apiKeyAuth.credentialRefs[0]",
        ),
        ("Gateway", gateway("it", rest=SHOWN), "Secret", "tls.backend.clientCertificateRef"),
        (
            "SecurityPolicy",
            route("r") + policy("it", login(SECRET)),
            "Secret",
            "oidc.clientSecret",
        ),
        (
            "SecurityPolicy",
            route("r") + policy("it", login("{name: own}", f"clientIDRef: {SECRET}")),
            "Secret",
            "oidc.clientIDRef",
        ),
        (
            "SecurityPolicy",
            route("r") + policy("it", login("{name: own}", servers=BACKEND)),
            "Service",
            "oidc.provider.backendRefs[0]",
        ),
        (
            "ClientTrafficPolicy",
            clients.policy(
                "it", f"tls: {{clientValidation: {{caCertificateRefs: [{AUTHORITY}]}}}}"
            ),
            "Secret",
            "tls.clientValidation.caCertificateRefs[0]",
        ),
        (
            "ClientTrafficPolicy",
            clients.policy(
                "it",
                "tls: {clientValidation: {caCertificateRefs: [{name: own}], "
                f"crl: {{refs: [{AUTHORITY}]}}}}}}",
            ),
            "Secret",
            "tls.clientValidation.crl.refs[0]",
        ),
        (
            "HTTPRouteFilter",
            INJECTED + route("r", to("s1", f"filters: [{NAMING}]")),
            "Secret",
            "credentialInjection.credential.valueRef",
        ),
        (
            "Backend",
            backend("it", f"{NAME}, tls: {{wellKnownCACertificates: System, {CERTIFICATE}}}")
            + route("r", to(TO.replace("name: b", "name: it"))),
            "Secret",
            "tls.clientCertificateRef",
        ),
    ],
)
def test_what_is_granted_is_told(kind: str, text: str, target: str, field: str) -> None:
    name = "s1" if target == "Service" else "cert"
    permitted = granted(kind, target)
    given = gateway_class() if kind == "Gateway" else GIVEN
    it = world(given + text)
    assert found(it, kind) is None, "nobody permits it"
    apply(it, permitted)
    crossing = Crossing(f"spec.{field}", ObjectRef(target, "certs", name), BY_GRANT)
    assert found(it, kind) == (crossing,)
    delete(it, "ReferenceGrant", "certs/g")
    assert found(it, kind) is None


def test_what_is_not_ours_is_not_told() -> None:
    permitted = granted("HTTPRoute", "Service")
    it = world(GIVEN + permitted + route("it", to(BACKEND), parents="{name: another}"))
    assert found(it, "HTTPRoute") is None


@pytest.mark.parametrize(("parent", "is_told"), [("gw", True), ("another", False)])
def test_a_filter_is_ours_if_a_route_of_ours_names_it(parent: str, is_told: bool) -> None:
    named = route("r", to("s1", f"filters: [{NAMING}]"), parents=f"{{name: {parent}}}")
    it = world(GIVEN + INJECTED + granted("HTTPRouteFilter", "Secret") + named)
    assert (found(it, "HTTPRouteFilter") is not None) == is_told
    delete(it, "HTTPRoute", "r")
    assert found(it, "HTTPRouteFilter") is None


def test_what_stays_in_its_namespace_is_nobodys_business() -> None:
    same = BACKEND.replace("certs", "default")
    it = world(GIVEN + granted("HTTPRoute", "Service") + route("it", to(same)))
    assert found(it, "HTTPRoute") is None
