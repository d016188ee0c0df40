"""`contour explain --run`: the request that is evaluated, sent to the Envoy of a `contour run`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

SITE = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: site}
spec:
  virtualhost: {fqdn: site.example.com, tls: {secretName: pair}}
  routes:
  - services: [{name: one, port: 80}]
    permitInsecure: true
  - conditions: [{prefix: /old}]
    requestRedirectPolicy: {statusCode: 302, path: /new}
    permitInsecure: true
  - conditions: [{prefix: /secure}]
    services: [{name: one, port: 80}]
  - conditions: [{prefix: /asleep}]
    services: [{name: asleep, port: 80}]
    permitInsecure: true
  - conditions: [{prefix: /away}]
    services: [{name: away, port: 80}]
    permitInsecure: true
  - conditions: [{prefix: /filtered}]
    services: [{name: one, port: 80}]
    permitInsecure: true
    ipDenyPolicy: [{source: Remote, cidr: 127.0.0.9/32}]
  - conditions: [{prefix: /bare}]
    services: [{name: one, port: 80}]
    permitInsecure: true
    responseHeadersPolicy: {remove: [X-Envoy-Upstream-Service-Time]}
  - conditions: [{prefix: /chat}]
    services: [{name: one, port: 80}]
    permitInsecure: true
    enableWebsockets: true
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: unread}
spec:
  virtualhost: {fqdn: unread.example.com, tls: {secretName: pair}}
  tcpproxy: {services: [{name: one, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: away, annotations: {projectcontour.io/local-addresses: "1"}}
spec: {ports: [{port: 80}]}
"""
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: contour
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: open, protocol: TCP, port: $open}
  - {name: closed, protocol: TCP, port: $closed}
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: open}
spec:
  parentRefs: [{name: web, sectionName: open}]
  rules: [{backendRefs: [{name: one, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: calls}
spec:
  parentRefs: [{name: web, sectionName: http}]
  hostnames: [calls.example.com]
  rules:
  - matches: [{method: {service: echo.Echo, method: Say}}]
    backendRefs: [{name: asleep, port: 80}]
"""


SWITCHING = [
    *("-H", "connection: upgrade", "-H", "upgrade: websocket", "-H", "sec-websocket-version: 13"),
    *("-H", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="),  # the example of RFC 6455, section 1.3
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    pair = pairs.of("pair", certificates.issued(certificates.authority(), "*.example.com"))
    files = {"services.yaml": manifest("services.yaml"), "site.yaml": SITE, "pair.yaml": pair}
    ports = dict(zip(("open", "closed"), free_ports(2), strict=True))
    files["gateway.yaml"] = GATEWAY
    with standalone(tmp_path_factory.mktemp("explain"), files, ports) as running:
        running.until_status("http://site.example.com/", 200)
        running.until_logged(f"{ports['open']}")
        yield running


def explained(site: Standalone, *arguments: str) -> Result:
    given = ("explain", "--run", "--state-dir", str(site.state), *arguments)
    return CliRunner().invoke(main, given)


@pytest.mark.parametrize(
    ("arguments", "first", "sent"),
    [
        (["http://site.example.com/"], "answered by Service default/one:80", "answered 200 by a "),
        (["https://site.example.com/"], "answered by Service default/one:80", "answered 200 by a "),
        (
            ["http://site.example.com/old"],
            "answered 302 to http://site.example.com/new",
            "answered 302 to http://site.example.com/new",
        ),
        (["http://site.example.com/secure"], "answered 301 to https://", "answered 301 to https"),
        (["http://site.example.com/asleep"], "answered 503 by Envoy: no endp", "answered 503"),
        (["http://nobody.example.com/"], "answered 404 by Envoy", "answered 404"),
        (["https://nobody.example.com/"], "no answer", "no answer"),
        (["http://site.example.com:1/"], "no answer", "no answer"),
        (["https://unread.example.com/"], "forwarded to Service default/one:80", "answered 200"),
        (["http://site.example.com/filtered"], "answered by Service", "answered 200 by a "),
        (["http://site.example.com/filtered", "--from", "127.0.0.9"], "answered 403", "answered 4"),
        (["http://site.example.com/bare"], "answered by Service", "no header tells them apart"),
        (["http://site.example.com/chat", *SWITCHING], "answered by Service", "answered 101 by a "),
        (["http://site.example.com/", *SWITCHING], "answered 403 by Envoy", "answered 403"),
        (["grpc://calls.example.com/echo.Echo/Say"], "answered 503", "grpc-status 14"),
        (["grpc://calls.example.com/echo.Echo/Shout"], "answered 404", "grpc-status 12"),
        (["tcp://127.0.0.1:$open"], "forwarded to Service default/one:80", "stays open"),
        (["tcp://127.0.0.1:$closed"], "no answer: no backend takes connections to TCP", "at once"),
        (["tcp://127.0.0.1:1"], "no answer: nothing listens on port 1 for TCP", "no answer"),
    ],
)
def test_the_answer_is_the_one_that_is_evaluated(
    site: Standalone, arguments: list[str], first: str, sent: str
) -> None:
    for name in ("open", "closed"):
        arguments = [it.replace(f"${name}", str(site.ports[name])) for it in arguments]
    found = explained(site, *arguments)
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0].startswith(first)
    assert sent in lines[-1]
    assert lines[-1].endswith("as evaluated")
    assert "not as evaluated" not in lines[-1]


@pytest.mark.parametrize(
    ("url", "connect", "text"),
    [
        ("http://site.example.com/away", "", "not as evaluated: answered 503 (upstream connect"),
        ("http://nobody.example.com/", "$one", "not as evaluated: answered 200"),
        ("http://site.example.com/", "1", "not as evaluated: no answer: [Errno 111]"),
        ("tcp://127.0.0.1:$open", "1", "not as evaluated: no answer: [Errno 111]"),
    ],
)
def test_another_answer_is_told_and_is_code_1(
    site: Standalone, url: str, connect: str, text: str
) -> None:
    for name in ("open", "one"):
        url, connect = (it.replace(f"${name}", str(site.ports[name])) for it in (url, connect))
    to = ["--connect-to", f"127.0.0.1:{connect}"] if connect else []
    found = explained(site, url, *to, "-o", "json")
    assert found.exit_code == 1, found.output
    told: dict[str, Any] = json.loads(found.stdout)["sent"]
    assert told["agrees"] is False
    assert told["text"].startswith(text)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["http://a.test/", "--connect-to", "nowhere"], "'nowhere' is no HOST:PORT"),
        (["http://a.test/", "--from", "192.0.2.1"], "--from has to be a loopback address"),
        (["http://a.test/", "-f", "."], "with -f, --run needs --connect-to"),
        (["https://a.test/", "--http3"], "--run sends over HTTP/1.1"),
        (["http://a.test/", "--http3"], "is not asked over HTTP/3, which is for https"),
        (["http://a.test/ä"], "ordinal not in range"),
        (["tcp://127.0.0.1"], "has no port, as tcp://127.0.0.1:5432 has"),
    ],
)
def test_what_cannot_be_sent_is_a_matter_of_usage(
    site: Standalone, arguments: list[str], told: str
) -> None:
    found = explained(site, *arguments)
    assert found.exit_code == 2, found.output
    assert told in found.stderr
