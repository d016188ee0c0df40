"""`contour diff` of two sets of manifests."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from tests.contour.cli.test_analyze import GOOD, PROXY, SERVICE
from tests.testbed import certificates, pairs

GUARDED = GOOD + "    ipAllowPolicy: [{source: Peer, cidr: 10.0.0.0/8}]\n"
LONGER = SERVICE + PROXY.replace("  - services", "  - timeoutPolicy: {response: 5s}\n    services")


def diff(folder: Path, old: str, new: str, *arguments: str) -> Result:
    for name, text in (("old.yaml", old), ("new.yaml", new)):
        (folder / name).write_text(text)
    command = ["diff", "-f", str(folder / "new.yaml"), "--against", str(folder / "old.yaml")]
    return CliRunner().invoke(main, [*command, *arguments])


EXITS = [(GOOD, GOOD, 0), (GOOD, LONGER, 1), (GOOD, "a: [", 2), ("a: [", GOOD, 2)]


@pytest.mark.parametrize(("old", "new", "code"), EXITS)
def test_the_exit_code(old: str, new: str, code: int, tmp_path: Path) -> None:
    assert diff(tmp_path, old, new).exit_code == code


def test_no_difference_is_said(tmp_path: Path) -> None:
    assert diff(tmp_path, GOOD, GOOD).stdout == "no request is answered differently\n"


def test_what_hurts_is_marked(tmp_path: Path) -> None:
    lines = diff(tmp_path, GUARDED, GOOD).stdout.splitlines()
    assert lines[0] == "shop.example.com (listener ingress_http)"
    assert lines[1].startswith("!! /*: ip filter: ")
    assert lines[1].endswith("-> none — the guard is gone")
    assert lines[2] == "     by HTTPProxy default/shop"
    assert lines[-2] == "Envoys of the fleet contour are sent: routes: 1 changed"
    assert lines[-1] == "1 difference, 1 harmful"


def test_for_programs(tmp_path: Path) -> None:
    found = json.loads(diff(tmp_path, GOOD, LONGER, "-o", "json").stdout)
    (difference,) = found["differences"]
    assert difference["aspect"] == "timeout"
    assert difference["objects"] == [{"kind": "HTTPProxy", "namespace": "default", "name": "shop"}]
    assert difference["example"] == "GET http://shop.example.com/"
    assert found["fleets"] == {
        "contour": {"added": {}, "changed": {"routes": 1}, "removed": {}, "drainedChains": 0}
    }


NAMED = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop, namespace: default}
spec:
  virtualhost: {fqdn: shop.example.com}
  routes:
  - conditions: [{prefix: /$(id)}, {header: {name: x-a, exact: "it's $(id)"}}]
    directResponsePolicy: {statusCode: %d}
"""


def test_a_request_is_shown_as_words_of_a_shell(tmp_path: Path) -> None:
    found = diff(tmp_path, NAMED % 200, NAMED % 201, "-o", "json")
    (difference,) = json.loads(found.stdout)["differences"]
    words = ["GET", "http://shop.example.com/$(id)", "-H", "x-a: it's $(id)"]
    done = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {difference['example']}"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == words


GATEWAY = (
    SERVICE
    + """
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec: {gatewayClassName: contour, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: web, port: 80}]}]}
"""
)
INSIDE = "authorization: {rules: [{action: Allow, principal: {clientCIDRs: [10.0.0.0/8]}}]}"
HOPS = "clientIPDetection: {xForwardedFor: {numTrustedHops: %d}}"
PROXY = "proxyProtocol: {optional: %s}"


def policy(kind: str, target: str, settings: str) -> str:
    named = "gw" if target == "Gateway" else "shop"
    reference = f"{{group: gateway.networking.k8s.io, kind: {target}, name: {named}}}"
    return f"""
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: {kind}
metadata: {{name: edge}}
spec: {{targetRefs: [{reference}], {settings}}}
"""


def guarded(guard: str) -> str:
    return policy("SecurityPolicy", "HTTPRoute", guard) if guard else ""


def clients(settings: str, guard: str = "") -> str:
    return GATEWAY + guarded(guard) + policy("ClientTrafficPolicy", "Gateway", settings)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            clients(HOPS % 1, INSIDE), clients(HOPS % 2, INSIDE),
            "!! client traffic: address: hops 1 -> hops 2 — the guard is gone",
        ),
        (
            clients(HOPS % 1), clients(HOPS % 2),
            "!! client traffic: address: hops 1 -> hops 2 — open connections end",
        ),
        (
            clients(PROXY % "false", INSIDE), clients(PROXY % "true", INSIDE),
            "!! client traffic: proxy_protocol: required -> optional — the guard is gone",
        ),
        (
            clients("enableProxyProtocol: false", INSIDE), clients(PROXY % "false", INSIDE),
            "!! client traffic: proxy_protocol: off -> required — the guard is gone",
        ),
        (
            clients(PROXY % "true", INSIDE), clients(PROXY % "false", INSIDE),
            "!! client traffic: proxy_protocol: optional -> required — open connections end",
        ),
        (
            clients("enableProxyProtocol: false", INSIDE), GATEWAY + guarded(INSIDE),
            "!! client traffic: proxy_protocol: off -> none — open connections end",
        ),
        (
            clients(PROXY % "false"), clients(PROXY % "true"),
            "!! client traffic: proxy_protocol: required -> optional — open connections end",
        ),
        (
            clients("path: {disableMergeSlashes: true}"), GATEWAY,
            "!! client traffic: merge_slashes: False -> none — open connections end",
        ),
    ],
)  # fmt: skip
def test_what_a_port_does_with_its_clients_is_told(
    old: str, new: str, line: str, tmp_path: Path
) -> None:
    assert diff(tmp_path, old, new).stdout.splitlines()[:3] == [
        "listener ingress_http",
        line,
        "     by ClientTrafficPolicy default/edge",
    ]


OTHER = """
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other}
spec:
  parentRefs: [{name: gw}]
  hostnames: [other.example.com]
  rules: [{backendRefs: [{name: web, port: 80}]}]
"""


def test_where_requests_are_read_behind_tls_by_other_addresses_the_guard_of_that_host_is_gone(
    tmp_path: Path,
) -> None:
    secret = pairs.of("tls", certificates.self_signed("shop.example.com"))
    behind_tls = "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: tls}]}"
    old, new = (
        clients(HOPS % it, INSIDE).replace("port: 80, protocol: HTTP", behind_tls) + secret + OTHER
        for it in (1, 2)
    )
    line = "!! TLS: traffic: address hops 1 -> address hops 2 —"
    told = [it for it in diff(tmp_path, old, new).stdout.splitlines() if it.startswith("!!")]
    assert told == [f"{line} the guard is gone", f"{line} open connections end"]


USERS = """
---
apiVersion: v1
kind: Secret
metadata: {name: users}
stringData: {.htpasswd: "me:{SHA}%s="}
"""


def test_a_change_that_is_not_compared_is_not_said_to_change_nothing(tmp_path: Path) -> None:
    guard = policy("SecurityPolicy", "HTTPRoute", "basicAuth: {users: {name: users}}")
    old, new = (
        GATEWAY + guard + USERS % it
        for it in ("W6ph5Mm5Pz8GgiULbPgzG37mj9g", "qUqP5cyxm6YcTAhz05Hph5gvu9M")
    )
    found = diff(tmp_path, old, new)
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "Envoys of the fleet contour are sent: extension configs: 1 changed",
        "no difference was found; Envoys are sent the above",
    ]


UNKNOWN = (
    GOOD
    + r"""
  - conditions: [{regex: '/\Qa\E'}]
    services: [{name: web, port: 80}]
"""
)
SIMILAR = UNKNOWN.replace(r"/\Qa\E", "/[b-z]")


def test_what_is_not_compared_is_said(tmp_path: Path) -> None:
    found = diff(tmp_path, UNKNOWN, SIMILAR)
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "shop.example.com (listener ingress_http)",
        r"?? the expression /\Qa\E: not compared, since no request is known that this route takes",
        "     by HTTPProxy default/shop",
        "Envoys of the fleet contour are sent: routes: 1 changed",
        "no differences; 1 route not compared",
    ]
    found = json.loads(diff(tmp_path, UNKNOWN, SIMILAR, "-o", "json").stdout)
    assert found["differences"] == []
    assert found["uncompared"] == [
        {
            "fleet": "contour",
            "listener": "ingress_http",
            "host": "shop.example.com",
            "what": r"the expression /\Qa\E",
            "objects": [{"kind": "HTTPProxy", "namespace": "default", "name": "shop"}],
        }
    ]


CONFIG = """
apiVersion: marin3r.3scale.net/v1alpha1
kind: EnvoyConfig
metadata: {name: own, namespace: default}
spec:
  nodeID: proxy
  resources: [{type: cluster, value: {name: a, %s}}]
"""


@pytest.mark.parametrize("new", [SERVICE, CONFIG % "unknown_field: 1"])
def test_envoys_of_a_node_id_keep_what_they_have(new: str, tmp_path: Path) -> None:
    old = CONFIG % "connect_timeout: 1s"
    found = diff(tmp_path, old, new)
    assert found.exit_code == 1
    (kept,) = json.loads(diff(tmp_path, old, new, "-o", "json").stdout)["kept"]
    assert found.stdout.splitlines() == [
        f"Envoys of the fleet {kept} keep what they have: no valid EnvoyConfig has their node ID",
        "no request is answered differently",
    ]
    assert kept in diff(tmp_path, new, old).stdout


def test_nobody_runs(tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(GOOD)
    command = ["diff", "-f", str(tmp_path / "new.yaml"), "--state-dir", str(tmp_path)]
    assert CliRunner().invoke(main, command).exit_code == 2
