"""`contour collect` of a real `contour run`: what is needed is there, what is planted is not."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from contour.cli import main
from tests.e2e import standalone
from tests.e2e.standalone import Standalone
from tests.testbed.processes import wait

PLANTED = "pl4nt3d-S3cret"
HOST = "collected.example.com"
MANIFEST = f"""
apiVersion: v1
kind: Secret
metadata: {{name: hidden}}
stringData: {{password: {PLANTED}}}
---
apiVersion: v1
kind: Service
metadata: {{name: one}}
spec: {{ports: [{{name: http, port: 80}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: one, labels: {{kubernetes.io/service-name: one}}}}
addressType: IPv4
endpoints: [{{addresses: [127.0.0.1]}}]
ports: [{{name: http, port: $one}}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata:
  name: site
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{{"x": "{PLANTED}"}}'
spec:
  virtualhost: {{fqdn: {HOST}}}
  routes:
  - services: [{{name: one, port: 80}}]
    requestHeadersPolicy: {{set: [{{name: authorization, value: Basic {PLANTED}}}]}}
"""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone.standalone(tmp_path_factory.mktemp("collect"), {"site.yaml": MANIFEST}) as it:
        yield it


def test_the_archive_of_a_run_has_what_a_report_needs_and_nothing_that_was_planted(
    instance: Standalone, tmp_path: Path
) -> None:
    instance.until(f"http://{HOST}/", "one")
    instance.ask(f"http://{HOST}/login?code={PLANTED}")
    access_log = instance.state / "access.log"
    wait(lambda: "/login" in access_log.read_text(), "the request in the access log")
    archive = tmp_path / "report.tar.gz"
    arguments = ["collect", "--state-dir", str(instance.state), "-o", str(archive)]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 0, found.output
    assert archive.stat().st_mode & 0o077 == 0
    with tarfile.open(archive) as tar:
        files = {it.name: opened.read() for it in tar if (opened := tar.extractfile(it))}
    assert "contour/missing.txt" not in files, files["contour/missing.txt"]
    assert not [name for name, content in files.items() if PLANTED.encode() in content]
    rows = json.loads(files["contour/instance/objects.json"])
    assert "site" in {it["subject"]["name"] for it in rows}
    (fleet,) = json.loads(files["contour/instance/config.json"])
    assert fleet["envoys"]
    assert HOST.encode() in files["contour/manifests/0000-site.yaml.json"]
    assert b"envoy_server_live" in files["contour/envoy/metrics.txt"]
    assert b"static_resources" in files["contour/envoy/bootstrap.json"]
    assert b"/login?[redacted]" in files["contour/logs/access.log"]
    again = CliRunner().invoke(main, arguments)
    assert (again.exit_code, "File exists" in again.stderr) == (2, True)
