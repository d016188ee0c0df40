"""Which names are suggested for what is not found, and that nothing is suggested in a cluster."""

import pytest

from contour.complaints import ManifestSource
from contour.controller import Controller
from contour.files import documents, store
from contour.offline import rendering
from tests.testbed import pairs

SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: cart}
spec: {ports: [{port: 80, name: http}, {port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: payments, namespace: team-b}
spec: {ports: [{port: 80}]}
---
"""
ORPHAN = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: cart-route, namespace: team-b}
spec: {routes: [{services: [{name: payments, port: 80}]}]}
---
"""


def proxy(rest: str, host: str = "fqdn: a.example.com") -> str:
    return (
        "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: it}\n"
        f"spec: {{virtualhost: {{{host}}}, {rest}}}\n"
    )


def ingress(backend: str) -> str:
    return (
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: it}\n"
        f"spec: {{defaultBackend: {{service: {backend}}}}}\n"
    )


CASES = {
    "a Service": (
        SERVICES + proxy("routes: [{services: [{name: crat, port: 80}]}]"),
        "Service default/crat not found", " (did you mean cart?)",
    ),
    "a Service of another namespace": (
        SERVICES + proxy("routes: [{services: [{name: payment, port: 80}]}]"),
        "Service default/payment not found", "",
    ),
    "a Service of the same name in another namespace": (
        SERVICES + proxy("routes: [{services: [{name: payments, port: 80}]}]"),
        "Service default/payments not found", " (did you mean team-b/payments?)",
    ),
    "a port by number": (
        SERVICES + proxy("routes: [{services: [{name: cart, port: 8080}]}]"),
        "Service default/cart has no port 8080; it has 80 (http), 443", "",
    ),
    "a port by name": (
        SERVICES + ingress("{name: cart, port: {name: htpp}}"),
        "Service default/cart has no port 'htpp'; it has 80 (http), 443", "",
    ),
    "a Service whose port is named": (
        SERVICES + ingress("{name: crat, port: {name: http}}"),
        "Service default/crat not found", " (did you mean cart?)",
    ),
    "an include": (
        SERVICES + ORPHAN + proxy("includes: [{name: cart-routes, namespace: team-b}]"),
        "HTTPProxy team-b/cart-routes not found", " (did you mean cart-route?)",
    ),
    "a Secret": (
        SERVICES + pairs.secret("web-tls") + "\n---\n" + proxy(
            "routes: [{services: [{name: cart, port: 80}]}]",
            "fqdn: a.example.com, tls: {secretName: web-tsl}",
        ),
        "Secret default/web-tsl not found", " (did you mean web-tls?)",
    ),
}  # fmt: skip


def told(text: str, *, gives_hints: bool) -> str:
    controller = Controller(rendering.Fleets().publish, gives_hints=gives_hints)
    found = store.Store()
    found.write(ManifestSource("it.yaml"), documents.texts(text.encode()))
    controller.take(found.batch())
    return _reasons(controller)


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_found_names_what_may_be_meant(name: str) -> None:
    text, fault, hint = CASES[name]
    assert fault + hint in told(text, gives_hints=True)
    assert not hint or hint not in told(text, gives_hints=False)
    assert fault in told(text, gives_hints=False)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("car", "cart"), ("caart", "cart"), ("card", "cart"), ("crat", "cart")),
        *(("crta", ""), ("x" * 254, "")),
    ],
)
def test_a_name_with_one_mistake_is_recognised(written: str, meant: str) -> None:
    manifest = SERVICES + proxy(f"routes: [{{services: [{{name: {written}, port: 80}}]}}]")
    said = told(manifest.replace("payments, namespace: team-b", "x" * 253), gives_hints=True)
    assert f"{written} not found" in said
    assert ("did you mean" in said) == bool(meant)
    assert f"(did you mean {meant}?)" in said or not meant


def test_another_name_wakes_only_the_question_for_names() -> None:
    controller, found = Controller(rendering.Fleets().publish, gives_hints=True), store.Store()

    def save(file: str, text: str) -> int:
        found.write(ManifestSource(file), documents.texts(text.encode()))
        before = controller.engine.work.runs
        controller.take(found.batch())
        return controller.engine.work.runs - before

    save("it.yaml", proxy("routes: [{services: [{name: crat, port: 80}]}]"))
    unlike = SERVICES.split("---", maxsplit=1)[0].replace("cart", "warehouse")
    save("other.yaml", unlike)  # settles what only the first change does
    # Whether it is like the missing one, and whether gRPC clients may call it.
    assert save("another.yaml", unlike.replace("warehouse", "zebra")) <= 2
    assert "did you mean" not in _reasons(controller)
    save("services.yaml", SERVICES)
    assert "did you mean cart?" in _reasons(controller)


def _reasons(controller: Controller) -> str:
    return "\n".join(it for row in controller.board.rows() for it in row.reasons)
