"""What somebody can write wrongly with v1.7 of the Gateway API: told, and nothing is open."""

import pytest

from crds.decode import Decoded, decode
from tests.crds import documents
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    policy,
    route,
    service,
    telemetry_policy,
    to,
)
from tests.dag.gateway.test_crdversions import definition
from tests.dag.world import routes, world
from tests.testbed import pairs

GIVEN = gateway_class() + gateway("gw") + service("s1")
FINE = ["Accepted", "ResolvedRefs"]
LONG = "n" * 253


@pytest.mark.parametrize("scope", ["k8s.io/x", "a.k8s.io/x", "x", "/x", "a/", "A.b/x", "Clusters"])
def test_a_routability_that_nobody_may_define_is_refused(scope: str) -> None:
    found = decode(documents.gateway() | {"spec": _spec(scope)})
    assert isinstance(found, Decoded)
    assert found.object is None
    (complaint,) = found.complaints
    assert complaint.message.startswith("routability must be empty, Cluster, or a DNS subdomain")


def _spec(scope: str) -> documents.Document:
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    return {
        "gatewayClassName": "contour",
        "listeners": [listener],
        "addresses": [{"routability": scope}],
    }


@pytest.mark.parametrize("port", ["", ", port: 80"])
def test_an_xbackend_that_is_not_there_is_not_found_with_and_without_a_port(port: str) -> None:
    reference = f"{{group: gateway.networking.x-k8s.io, kind: XBackend, name: b{port}}}"
    it = world(GIVEN + route("r", to(reference)))
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs=False/BackendNotFound"]
    assert routes(it, "*") == ["/ -> 500"]


def test_names_may_have_253_characters() -> None:
    bundle = f"{{group: certificates.k8s.io, kind: ClusterTrustBundle, name: {LONG}}}"
    given = (
        gateway_class()
        + gateway(LONG)
        + service("s1")
        + route(LONG, to("s1"), parents=f"{{name: {LONG}}}")
        + policy(LONG, f"hostname: a.com, caCertificateRefs: [{bundle}]")
        + pairs.trust_bundle(LONG)
        + telemetry_policy(
            LONG, "mode: Enabled, provider: {backendRef: {name: s1, port: 80}}", (LONG,)
        )
    )
    it = world(given)
    assert status_text.gateway(it, LONG)[0] == "Accepted"
    assert status_text.route(it, LONG) == FINE
    assert status_text.policy(it, LONG) == FINE
    assert status_text.policy(it, LONG, "XTelemetryPolicy") == FINE
    assert routes(it, "*") != ["/ -> 500"]


SESSIONS = ("sessionName: s", "cookie: {name: s}")


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize(("of_classes", "of_routes"), [("v1.6.1", "v1.7.0"), ("v1.7.0", "v1.6.1")])
def test_crds_of_mixed_versions_hold_up_nothing(
    of_classes: str, of_routes: str, session: str
) -> None:
    """The CRD of GatewayClasses says the version; routes are read in both spellings."""
    others = definition(of_routes, "httproutes.gateway.networking.k8s.io", "standard")
    rule = to("s1", f"sessionPersistence: {{{session}}}")
    it = world(GIVEN + definition(of_classes) + others + route("r", rule))
    assert status_text.gateway_class(it, "contour") == ["Accepted", "SupportedVersion"]
    newer = "HTTPRouteRetryCodes" in status_text.features(it, "contour")
    assert newer == (of_classes == "v1.7.0")
    assert status_text.route(it, "r") == FINE
    assert routes(it, "*") != ["/ -> 500"]
