"""What is told while nothing else happens, on one machine and in a cluster: a certificate ends."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.cluster.cluster import Cluster
from tests.dag.httpproxy import manifests as proxies
from tests.e2e import incluster
from tests.e2e.standalone import manifest, standalone
from tests.e2e.test_serve import CONFIGURATION, GATEWAY, SERVICES
from tests.testbed import pairs

pytestmark = pytest.mark.envoy

_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_SUBJECT = "HTTPProxy default/old"
AUTH = "nginx.ingress.kubernetes.io/auth-type"


def test_the_end_of_a_certificate_is_told_when_it_comes(tmp_path: Path) -> None:
    end = datetime.now(UTC) + timedelta(seconds=30)
    days = (end - _BEGIN) / timedelta(days=1)
    answer = "routes: [{directResponsePolicy: {statusCode: 200, body: x}}]"
    root = proxies.tls_root("old", answer, fqdn="old.example.com")
    files = {
        "services.yaml": manifest("services.yaml"),
        "old.yaml": pairs.with_pair("cert", *pairs.pair(7, days=days)) + root,
    }
    with standalone(tmp_path, files) as running:
        deadline = monotonic() + 120
        while "expired on" not in (told := running.reasons(_SUBJECT)):
            assert monotonic() < deadline, told
            assert "CertificateExpir" in told
            sleep(0.5)


@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_in_a_cluster_the_leader_tells_it_and_what_annotations_do_not_guard(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    end = datetime.now(UTC) + timedelta(seconds=60)
    days = (end - _BEGIN) / timedelta(days=1)
    answer = "routes: [{directResponsePolicy: {statusCode: 200, body: x}}]"
    root = proxies.tls_root("old", answer, fqdn="old.example.com")
    secret = pairs.with_pair("cert", *pairs.pair(8, days=days))
    ours = [it.replace("namespace: default", f"namespace: {namespace}") for it in (secret, root)]
    guarded = GATEWAY.replace("name: route}", f"name: route, annotations: {{{AUTH}: basic}}}}")
    with incluster.instance(cluster, namespace, tmp_path) as instance:
        instance.apply(CONFIGURATION + "---" + SERVICES + "---" + guarded + "".join(ours))
        instance.until_ready(instance.start_replica())

        def warnings() -> str:
            condition = instance.condition("HTTPProxy", "old", "Valid")
            return " ".join(it["message"] for it in condition.get("warnings", ()))

        instance.until_condition("HTTPRoute", "route", "UnservedGuard", 60, status="True")
        instance.until_condition("HTTPRoute", "route", "Accepted", status="False")
        instance.until(lambda: "expired on" in warnings(), "the end to be told", 120)
        instance.apply(GATEWAY.rpartition("---")[2])
        instance.until(
            lambda: not instance.condition("HTTPRoute", "route", "UnservedGuard"), "it to go", 30
        )
