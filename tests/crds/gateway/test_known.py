"""Values of a future version of the API are read, and listed with their paths."""

import pytest

from crds.gateway.known import unknown_values
from tests.crds import documents
from tests.crds.objects import decoded

SERVED = {"backendRefs": [{"name": "web", "port": 80}]}


def rule(**fields: object) -> documents.Document:
    return documents.httproute({**SERVED, **fields})


def filtered(**fields: object) -> documents.Document:
    return documents.httproute({"filters": [fields]})


@pytest.mark.parametrize("document", documents.of_every_kind(), ids=lambda it: str(it["kind"]))
def test_nothing_that_is_known_is_listed(document: documents.Document) -> None:
    assert unknown_values(decoded(document)) == ()


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (rule(matches=[{"path": {"type": "Glob", "value": "*"}}]), "rules[0].matches[0].path.type"),
        (rule(matches=[{"method": "QUERY"}]), "rules[0].matches[0].method"),
        (
            rule(matches=[{"headers": [{"name": "a", "value": "b", "type": "Prefix"}]}]),
            "rules[0].matches[0].headers[0].type",
        ),
        (
            rule(matches=[{"queryParams": [{"name": "a", "value": "b", "type": "Prefix"}]}]),
            "rules[0].matches[0].queryParams[0].type",
        ),
        (filtered(type="Cache"), "rules[0].filters[0].type"),
        (
            filtered(type="RequestRedirect", requestRedirect={"scheme": "h3"}),
            "rules[0].filters[0].requestRedirect.scheme",
        ),
        (
            filtered(type="RequestRedirect", requestRedirect={"statusCode": 309}),
            "rules[0].filters[0].requestRedirect.statusCode",
        ),
        (
            filtered(type="URLRewrite", urlRewrite={"path": {"type": "Regex"}}),
            "rules[0].filters[0].urlRewrite.path.type",
        ),
        (
            filtered(type="CORS", cors={"allowMethods": ["GET", "QUERY"]}),
            "rules[0].filters[0].cors.allowMethods[1]",
        ),
        (rule(sessionPersistence={"type": "Query"}), "rules[0].sessionPersistence.type"),
        (
            documents.grpcroute({**SERVED, "matches": [{"method": {"type": "Glob"}}]}),
            "rules[0].matches[0].method.type",
        ),
        (documents.grpcroute({"filters": [{"type": "CORS"}]}), "rules[0].filters[0].type"),
        (
            documents.gateway(documents.listener("a", protocol="TLS", tls={"mode": "Reencrypt"})),
            "listeners[0].tls.mode",
        ),
        (
            documents.gateway(
                documents.listener("a", allowedRoutes={"namespaces": {"from": "Cluster"}})
            ),
            "listeners[0].allowedRoutes.namespaces.from",
        ),
        (
            documents.gateway(allowedListeners={"namespaces": {"from": "Cluster"}}),
            "allowedListeners.namespaces.from",
        ),
        (
            documents.backendtlspolicy(
                hostname="a.b",
                wellKnownCACertificates="System",
                subjectAltNames=[{"type": "Email"}],
            ),
            "validation.subjectAltNames[0].type",
        ),
    ],
)
def test_a_value_that_is_not_known_is_listed(document: documents.Document, path: str) -> None:
    (found,) = unknown_values(decoded(document))
    assert found.path == f"spec.{path}"
    assert str(found.known[0]) in found.message
