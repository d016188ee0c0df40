"""What docs/coming-from-envoy-gateway.md says of the configuration file is what is read of it."""

import contextlib
import http.client
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contour.configfile import reading, translation
from crds import shape
from crds.envoygateway.configfile import EnvoyGateway, Irrelevant
from crds.meta import NamespacedName
from crds.unserved import Unserved
from tests.e2e.standalone import exchange
from tests.testbed import processes
from tests.testbed.ports import free_ports
from tests.testbed.processes import ROOT

PAGE = (ROOT / "docs/coming-from-envoy-gateway.md").read_text()
TABLE = PAGE.split("## The fields of the file")[1].split("\n## ")[0]


def test_the_example_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(_block(1))
    found = reading.read(path)
    assert not found.warnings
    it = translation.translated(found.written, NamespacedName("home", "contour"), "serve")
    gateway = it.configuration.spec.gateway
    assert gateway is not None
    assert f"`{gateway.controller_name}`" in PAGE


@pytest.mark.envoy
def test_the_manifests_of_the_page_are_served_on_one_machine(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(_block(2))
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "quickstart.yaml").write_text(_block(3))
    port, backend = free_ports(2)
    command = PAGE.split("```sh\n")[2].partition("\n")[0].split()
    assert command[:2] == ["contour", "run"]
    assert command[-1] == "backend=127.0.0.1:3000"
    given = (
        *(*command[1:-1], f"backend=127.0.0.1:{backend}", "--map-port", f"80={port}"),
        *("--state-dir", "state", "--concurrency", "1", "--drain-time", "0"),
    )
    with processes.backends({"backend": backend}):
        process = processes.start("contour", (*processes.CONTOUR, *given), tmp_path, where=tmp_path)
        try:
            process.wait_until((tmp_path / "state/ready").exists)
            assert _asked(port) == "backend"
            said = PAGE.split("```text\n")[1].partition("\n")[0].replace("8080", str(port))
            process.wait_until(lambda: said in process.log.read_text())
        finally:
            process.stop()


def _block(number: int) -> str:
    """One of the blocks of YAML, counted from 1."""
    return PAGE.split("```yaml\n")[number].partition("```")[0]


def _asked(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        return exchange(connection, "www.example.com", "/").backend


def test_every_field_that_is_not_served_is_named_and_no_other() -> None:
    named = set(re.findall(r"\b[a-z]\w+", " ".join(re.findall(r"`([^`]+)`", TABLE))))
    fields = dict(_fields(EnvoyGateway, ""))
    for path in fields:
        above = [it for it in fields if f"{path}.".startswith(f"{it}.")]
        marks = [_mark(fields[it]) for it in above]
        if any(marks):
            assert any(it.rpartition(".")[2] in named for it in above), path
    unknown = named - {step for it in fields for step in it.split(".")} - WORDS
    assert not unknown


WORDS = {"admin", "contour", "extensions", "serve", "true", "false", "translation", "default",
         "leader", "election", "lease", "duration", "config", "dir", "run", "state"}  # fmt: skip


def _mark(field: shape.FieldShape) -> bool:
    return any((shape.mark(field, Unserved), shape.mark(field, Irrelevant)))


def _fields(model: type, above: str) -> Iterator[tuple[str, shape.FieldShape]]:
    for name, field in shape.fields(model).items():
        yield f"{above}{name}", field
        if field.model is not None:
            yield from _fields(field.model, f"{above}{name}.")
