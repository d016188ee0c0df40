"""What `contour run` says on the terminal while files are edited, behind a real Envoy."""

import contextlib
import os
import re
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dag.gateway.manifests import gateway, gateway_class, host, http
from tests.e2e import standalone
from tests.e2e.standalone import Standalone, manifest
from tests.testbed import certificates, pairs, processes
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

GATEWAY = gateway_class() + gateway("web", http("http", host("*.example.com")))
TEAM = """
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: team-b}
spec: {ports: [{port: 80, name: http}]}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: cart-route, namespace: team-b}
spec: {routes: [{services: [{name: cart, port: 80}]}]}
"""


def proxy(name: str, spec: str, namespace: str = "default") -> str:
    return (
        "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n"
        f"  virtualhost: {{fqdn: {name}.example.com}}\n  {spec}\n"
    )


def ingress(name: str, port: str, class_name: str = "contour") -> str:
    return (
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        f"metadata: {{name: {name}}}\nspec:\n  ingressClassName: {class_name}\n"
        f"  rules: [{{host: {name}.example.com, http: {{paths: [{{path: /, pathType: Prefix, "
        f"backend: {{service: {{name: one, port: {port}}}}}}}]}}}}]\n"
    )


def route(name: str, parent: str, service: str = "name: one", namespace: str = "default") -> str:
    return (
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n"
        f"  parentRefs: [{{{parent}}}]\n  hostnames: [{name}.example.com]\n"
        f"  rules: [{{backendRefs: [{{{service}, port: 80}}]}}]\n"
    )


GATEWAY_TYPO = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: s06}
spec: {gatewayClassName: countour, listeners: [{name: http, protocol: HTTP, port: 80}]}
"""
SECRET = """---
apiVersion: v1
kind: Secret
metadata: {name: wrongtype}
type: Opaque
data: {tls.crt: cnViYmlzaA==, tls.key: cnViYmlzaA==}
"""
EMPTY = "---\napiVersion: v1\nkind: Service\nmetadata: {name: empty}\nspec: {ports: [{port: 80}]}\n"

FAULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "a misspelt Service": (
        proxy("s01", "routes: [{services: [{name: onne, port: 80}]}]"),
        ("HTTPProxy default/s01: spec.routes[0].services[0]: Service default/onne not found "
         "(did you mean one?)",),
    ),
    "the name of a port": (
        ingress("s02", "{name: htpp}"),
        ("Ingress default/s02: ", "Service default/one has no port 'htpp'; it has 80"),
    ),
    "the number of a port": (
        proxy("s02b", "routes: [{services: [{name: one, port: 8080}]}]"),
        ("HTTPProxy default/s02b: ", "Service default/one has no port 8080; it has 80"),
    ),
    "no ReferenceGrant": (
        route("s03", "name: web", "name: cart, namespace: team-b"),
        ("HTTPRoute default/s03: ", "no ReferenceGrant in namespace team-b"),
    ),
    "a misspelt include": (
        proxy("s04", "includes: [{name: cart-routes, namespace: team-b}]"),
        ("HTTPProxy default/s04: spec.includes[0]", "HTTPProxy team-b/cart-routes not found "
         "(did you mean cart-route?)"),
    ),
    "a host of another": (
        proxy("s05", "routes: [{services: [{name: one, port: 80}]}]").replace("s05.", "live."),
        ("HTTPProxy default/s05: ", "live.example.com", "HTTPProxy default/live"),
    ),
    "a misspelt class": (
        GATEWAY_TYPO,
        ("Gateway default/s06: spec.gatewayClassName: GatewayClass countour not found "
         "(did you mean contour?)",),
    ),
    "a misspelt parent": (
        route("s07", "name: wbe"),
        ("HTTPRoute default/s07: spec.parentRefs[0].name: Gateway default/wbe not found "
         "(did you mean web?)",),
    ),
    "an Ingress of another class": (
        ingress("s08", "{number: 80}", "nginx"),
        ("Ingress default/s08: spec.ingressClassName: class nginx is not served here",),
    ),
    "a host that no listener has": (
        route("s09", "name: web").replace("example.com", "example.org"),
        ("HTTPRoute default/s09: spec.hostnames: ", "which has *.example.com"),
    ),
    "a namespace that is not allowed": (
        route("s10", "name: web, namespace: default", namespace="team-b"),
        ("HTTPRoute team-b/s10: ", "from namespace team-b (see allowedRoutes"),
    ),
    "a Secret of rubbish": (
        proxy("s11", "routes: [{services: [{name: one, port: 80}]}]").replace(
            "example.com}", "example.com, tls: {secretName: wrongtype}}"
        ) + SECRET,
        ("HTTPProxy default/s11: spec.virtualhost.tls.secretName: ", "does not parse; its type is "
         "Opaque"),
    ),
    "no endpoints": (
        proxy("s12", "routes: [{services: [{name: empty, port: 80}]}]") + EMPTY,
        ("HTTPProxy default/s12: Service default/empty has no ready endpoints",),
    ),
    "a misspelt field": (
        proxy("s13", "rutes: []"),
        ("HTTPProxy default/s13: spec.rutes: unknown field; did you mean routes?",),
    ),
    "no YAML": ("a: [\n", ("case.yaml: ", "case.yaml:")),
}  # fmt: skip
"""Each with what one line has to say: the object and the cause."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    names = ("services.yaml", "live.yaml")
    files = {it: manifest(it) for it in names} | {"gateway.yaml": GATEWAY, "team.yaml": TEAM}
    with standalone.standalone(tmp_path_factory.mktemp("console"), files) as instance:
        instance.until_logged("serving HTTP port 80")
        yield instance


_LAST = [0.0]
_BETWEEN = 0.2
"""Seconds between two changes. Each is told in up to three lines, and of more than 19 lines in a
second the others are only counted."""


def _wait_for_a_turn() -> None:
    time.sleep(max(0.0, _LAST[0] + _BETWEEN - time.monotonic()))
    _LAST[0] = time.monotonic()


def said_after(
    running: Standalone, name: str, text: str | None, words: tuple[str, ...]
) -> list[str]:
    """The lines after a file was saved, or removed, up to the one that has all the words."""
    _wait_for_a_turn()
    before = len(running.log.read_text())
    if text is None:
        running.remove(name)
    else:
        running.write(name, text)
    lines: list[str] = []

    def is_said() -> bool:
        lines[:] = running.log.read_text()[before:].splitlines()
        return any(all(word in it for word in words) for it in lines)

    processes.wait(is_said, f"{words} in {running.log}", processes=[running.process])
    return lines


@pytest.mark.parametrize("fault", FAULTS)
def test_the_cause_of_a_broken_setup_is_told_in_a_line_when_the_file_is_saved(
    running: Standalone, fault: str
) -> None:
    text, words = FAULTS[fault]
    lines = said_after(running, "case.yaml", text, words)
    # The cause, and a line for another object of the same file.
    assert len(lines) <= 2, lines
    assert "case.yaml:" in next(it for it in lines if words[0] in it)
    removed = said_after(running, "case.yaml", None, ("- ",))
    assert not any("✗" in it for it in removed)


def test_what_is_mended_is_told_with_the_time_until_envoy_had_it(running: Standalone) -> None:
    good = proxy("mended", "routes: [{services: [{name: one, port: 80}]}]")
    (line,) = said_after(running, "mended.yaml", good, ("default/mended",))
    assert re.fullmatch(r"\+ HTTPProxy default/mended \(in Envoy after \d+ ms\)", line)
    assert running.ask("http://mended.example.com/").backend == "one"
    said_after(running, "mended.yaml", good.replace("one", "onne"), ("not found",))
    (line,) = said_after(running, "mended.yaml", good, ("valid again",))
    assert re.fullmatch(
        r"✓ HTTPProxy default/mended is valid again \(in Envoy after \d+ ms\)", line
    )
    (line,) = said_after(running, "mended.yaml", good.replace("one", "two"), ("changed",))
    assert re.fullmatch(r"~ HTTPProxy default/mended changed \(in Envoy after \d+ ms\)", line)
    said_after(running, "mended.yaml", None, ("- HTTPProxy default/mended removed",))


def test_a_typing_error_keeps_what_was_served(running: Standalone) -> None:
    good = proxy("kept", "routes: [{services: [{name: one, port: 80}]}]")
    said_after(running, "kept.yaml", good, ("+ HTTPProxy default/kept",))
    typo = good.replace("virtualhost", "virtulhost").replace("one", "two")
    said_after(
        running,
        "kept.yaml",
        typo,
        ("spec.virtulhost", "virtualhost?", "its last good version stays"),
    )
    assert running.ask("http://kept.example.com/").backend == "one"
    assert running.status()["HTTPProxy default/kept"]["summary"] == "newest version refused"
    running.remove("kept.yaml")


def test_another_definition_is_told_as_that(running: Standalone) -> None:
    good = proxy("twice", "routes: [{services: [{name: one, port: 80}]}]")
    said_after(running, "twice-a.yaml", good, ("+ HTTPProxy default/twice",))
    lines = said_after(running, "twice-b.yaml", good, ("already defined at",))
    assert "good version" not in "".join(lines)
    row = running.status()["HTTPProxy default/twice"]
    assert (row["state"], row["summary"]) == ("error", "defined more than once")
    said_after(running, "twice-b.yaml", None, ("HTTPProxy default/twice is valid again",))
    running.remove("twice-a.yaml")


def test_what_is_deleted_is_not_told_as_mended(running: Standalone) -> None:
    good = proxy("broken", "routes: [{services: [{name: one, port: 80}]}]")
    said_after(running, "broken.yaml", good, ("+ HTTPProxy default/broken",))
    said_after(running, "broken.yaml", good.replace("routes", "rutes"), ("good version stays",))
    lines = said_after(running, "broken.yaml", None, ("- HTTPProxy default/broken removed",))
    lines += said_after(running, "unread.yaml", "a: [\n", ("unread.yaml:",))
    lines += said_after(running, "unread.yaml", None, ("unread.yaml removed",))
    assert not [it for it in lines if "again" in it or "can be read" in it]


@pytest.mark.parametrize("name", ["repaired.yaml", os.fsdecode(b"repaired\xff.yaml")])
def test_a_file_that_is_repaired_is_not_told_as_removed(running: Standalone, name: str) -> None:
    said_after(running, name, "a: [\n", ("repaired", "yaml:"))
    lines = said_after(running, name, "# empty\n", ("repaired",))
    assert "yaml can be read" in "".join(lines)
    running.remove(name)


def test_a_burst_is_summed(running: Standalone) -> None:
    text = "---\n".join(
        proxy(f"many-{n}", "routes: [{services: [{name: nobody, port: 80}]}]") for n in range(300)
    )
    lines = said_after(running, "many.yaml", text, ("and 2", " more: 2", "with problems"))
    # What the test before has left to say may be said, or counted, in the same second.
    said = sum("/many-" in it for it in lines)
    counted = sum(int(it.split()[1]) for it in lines if it.startswith("and "))
    assert said < 150, "a few lines a second"
    assert said + counted >= 300
    running.remove("many.yaml")


def test_ports_are_told_when_envoy_listens_and_not_before(running: Standalone) -> None:
    assert "HTTPS" not in running.log.read_text()
    tls = proxy("tls", "routes: [{services: [{name: one, port: 80}]}]").replace(
        "example.com}", "example.com, tls: {secretName: pair}}"
    )
    words = ("serving HTTPS port 443 on 127.0.0.1:",)
    secret = pairs.of("pair", certificates.issued(running.authority, "tls.example.com"))
    said_after(running, "tls.yaml", f"{tls}---\n{secret}", words)
    assert running.ask("https://tls.example.com/").backend == "one"
    said_after(running, "tls.yaml", None, ("not serving HTTPS port 443",))


def test_a_port_that_another_process_had_is_served_when_it_is_free(running: Standalone) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        running.write("late.yaml", gateway("late", http(port=port)))
        running.until_told("Gateway default/late", "cannot bind")
    running.until_logged(f"serving HTTP port {port}")
    processes.wait(lambda: not running.reasons("Gateway default/late"), "no reasons")
    said_after(running, "late.yaml", None, (f"not serving HTTP port {port}",))


def test_a_backend_needs_no_service_and_no_endpoints(tmp_path: Path) -> None:
    ports = dict(zip(("http", "https", "one"), free_ports(3), strict=True))
    (tmp_path / "manifests").mkdir()
    shop = proxy("shop", "routes: [{services: [{name: cart, port: 80}]}]")
    (tmp_path / "manifests" / "shop.yaml").write_text(shop)
    backends = ("--backend", f"cart={ports['one']}", "--backend", "default/card=127.0.0.1:1")
    with (
        processes.backends({"one": ports["one"]}),
        standalone.contour(tmp_path, ports, options=backends) as running,
    ):
        standalone.wait_until_ready(running)
        assert running.ask("http://shop.example.com/").backend == "one"
        running.until_logged(
            "--backend default/card: no object leads requests to this Service "
            "(did you mean default/cart?)"
        )


def test_tls_auto_certifies_what_has_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    ports = dict(zip(("http", "https", "one"), free_ports(3), strict=True))
    (tmp_path / "manifests").mkdir()
    shop = proxy("shop", "routes: [{services: [{name: cart, port: 80}]}]").replace(
        "example.com}", "example.com, tls: {secretName: shop-tls}}"
    )
    (tmp_path / "manifests" / "shop.yaml").write_text(shop)
    options = ("--backend", f"cart={ports['one']}", "--tls", "auto")
    with (
        processes.backends({"one": ports["one"]}),
        standalone.contour(tmp_path, ports, options=options) as running,
    ):
        standalone.wait_until_ready(running)
        bundle = tmp_path / "data" / "contour" / "authorities.pem"
        running.until_logged(f"clients have to trust {bundle}")
        trusting = ssl.create_default_context(cafile=bundle)
        with socket.create_connection(("127.0.0.1", ports["https"])) as plain:
            trusting.wrap_socket(plain, server_hostname="shop.example.com").close()
        running.write("new.yaml", shop.replace("shop", "late"))
        running.until_logged("Secret default/late-tls: made a certificate for late.example.com")
    assert "PRIVATE" not in running.log.read_text()


def _started(folder: Path, command: str, environment: dict[str, str]) -> Iterator[Standalone]:
    ports = dict(zip(("http", "https", "one"), free_ports(3), strict=True))
    (folder / "manifests").mkdir()
    shop = proxy("shop", "routes: [{services: [{name: cart, port: 80}]}]")
    (folder / "manifests" / "shop.yaml").write_text(shop)
    arguments = (*standalone.arguments(folder, ports), "--backend", f"cart={ports['one']}")
    shell = ("sh", "-c", f'exec "$@" {command}', "sh", *processes.CONTOUR, *arguments)
    whole = os.environ | environment
    process = processes.start("contour", shell, folder, whole, processes.ROOT)
    try:
        with processes.backends({"one": ports["one"]}):
            yield Standalone(folder / "manifests", folder / "state", ports, process)
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("command", "environment", "said"),
    [
        ("2>/dev/full", {}, ""),
        (">&-", {}, "✗"),
        (">&- 2>&-", {}, ""),
        ("", {"PYTHONIOENCODING": "ascii"}, "x HTTPProxy"),
        ("", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "x HTTPProxy"),
        ("", {"TERM": "dumb"}, "✗ HTTPProxy"),
    ],
    ids=["full disk", "stdout closed", "both closed", "ASCII", "locale C", "dumb"],
)
def test_it_serves_whatever_becomes_of_what_it_says(
    tmp_path: Path, command: str, environment: dict[str, str], said: str
) -> None:
    with contextlib.contextmanager(_started)(tmp_path, command, environment) as running:
        standalone.wait_until_ready(running)
        running.write("bad.yaml", proxy("bad", "routes: [{services: [{name: crat, port: 80}]}]"))
        processes.wait(lambda: "HTTPProxy default/bad" in running.status(), "bad in the status")
        assert running.ask("http://shop.example.com/").backend == "one"
        if said:
            running.until_logged(said)
        assert "Traceback" not in running.log.read_text()
        assert "Warning" not in running.log.read_text()


def test_it_serves_and_ends_while_nobody_reads_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with contextlib.ExitStack() as stack:
        pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        stack.callback(os.close, pipe)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(pipe, b"x" * 4096)
        started = contextlib.contextmanager(_started)
        running = stack.enter_context(started(tmp_path, f"2>{path}", {}))
        standalone.wait_until_ready(running)
        running.write("bad.yaml", proxy("bad", "routes: [{services: [{name: crat, port: 80}]}]"))
        processes.wait(lambda: "HTTPProxy default/bad" in running.status(), "bad in the status")
        assert running.ask("http://shop.example.com/").backend == "one"
        running.process.stop()
        assert running.process.code == 0
