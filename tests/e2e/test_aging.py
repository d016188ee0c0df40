"""`contour run` tells of a certificate that ends while nothing else happens."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.dag import pairs
from tests.dag.httpproxy import manifests as proxies
from tests.e2e.standalone import manifest, standalone

pytestmark = pytest.mark.envoy

_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_SUBJECT = "HTTPProxy default/old"


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
