"""Backends without EndpointSlices: `contour run` asks the resolver of this machine."""

from pathlib import Path

import pytest

from tests.e2e.standalone import standalone

pytestmark = pytest.mark.envoy

NAMED = """
apiVersion: v1
kind: Service
metadata: {name: localhost}
spec: {ports: [{port: 80, targetPort: $PORT}]}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: named}
spec:
  virtualhost: {fqdn: named.example.com}
  routes: [{services: [{name: localhost, port: 80}]}]
"""
NOWHERE = NAMED.replace("name: localhost", "name: contour-test-no-such-host").replace(
    "name: named", "name: nowhere"
).replace("named.", "nowhere.")  # fmt: skip

SILENT = "127.0.0.9"
"""Nobody answers there: only the names in /etc/hosts resolve."""


@pytest.mark.parametrize("is_on", [True, False])
def test_a_service_is_found_by_its_name(tmp_path: Path, is_on: bool) -> None:
    texts = {"named.yaml": NAMED, "nowhere.yaml": NOWHERE}
    manifests = {name: it.replace("$PORT", "$one") for name, it in texts.items()}
    resolver = SILENT if is_on else ""
    with standalone(tmp_path, manifests, resolver=resolver) as contour:
        if not is_on:
            contour.until_status("http://named.example.com/", 503)
            assert "cannot be resolved" not in contour.reasons("HTTPProxy default/nowhere")
            return
        contour.until("http://named.example.com/", "one")
        contour.until_told("HTTPProxy default/nowhere", "contour-test-no-such-host cannot be res")
        contour.write("named.yaml", NAMED.replace("$PORT", "$two"))
        contour.until("http://named.example.com/", "two")
