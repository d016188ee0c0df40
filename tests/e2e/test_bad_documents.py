"""Documents that are wrong, through `contour translate` and `contour run`: told, and never worse.

What each complaint says exactly is tested beside the modules that make it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from tests.e2e import standalone
from tests.e2e.standalone import Standalone, manifest

_GOOD = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: good}
spec:
  virtualhost: {fqdn: good.example.com}
  routes:
  - directResponsePolicy: {statusCode: 200}
"""
_BOMB = "\n".join(
    [
        "apiVersion: v1",
        "kind: ConfigMap",
        "metadata: {name: bomb}",
        "data:",
        "  a0: &a0 [x, x]",
        *(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
)
_DEEP = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {'[' * 50_000}"
_LONG = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: long}}\ndata: {{a: '{'x' * 10**7}'}}\n"

_BAD: dict[str, tuple[bytes, str]] = {
    "syntax": (b"apiVersion: v1\nkind: [\n", "bad.yaml"),
    "a tab": (b"apiVersion: v1\n\tkind: Service\n", "bad.yaml"),
    "no mapping": (b"- just\n- a list\n", "bad.yaml"),
    "no kind": (b"apiVersion: v1\nmetadata: {name: a}\n", "kind"),
    "wrong type": (_GOOD.replace("{name: good}", "{name: 5}").encode(), "metadata.name"),
    "wrong type inside": (
        _GOOD.replace("good", "bad").replace("statusCode: 200", "statusCode: many").encode(),
        "spec.routes[0].directResponsePolicy.statusCode",
    ),
    "not UTF-8": (b"apiVersion: v1\nkind: Service\nmetadata: {name: \xff\xfe}\n", "bad.yaml"),
    "anchor bomb": (_BOMB.encode(), "bad.yaml"),
    "too deep": (_DEEP.encode(), "bad.yaml"),
    "too long": (_LONG.encode(), "bad.yaml"),
    "binary": (bytes(range(256)) * 10, "bad.yaml"),
}


@pytest.mark.parametrize("name", _BAD)
def test_a_document_that_cannot_be_read_is_told_and_hides_no_other(
    tmp_path: Path, name: str
) -> None:
    content, told = _BAD[name]
    done = _translated(tmp_path, content)
    assert done.exit_code in {0, 2}
    assert told in done.stderr
    assert "good.example.com" in done.stdout


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (_GOOD.replace("good", "other").replace("statusCode: 200", "statusCode: 200, colour: red"),
         "colour"),
        ("apiVersion: example.com/v1\nkind: Teapot\nmetadata: {name: t}\n", "Teapot"),
        (_GOOD, "good"),
    ],
    ids=["unknown field", "unknown kind", "duplicate"],
)  # fmt: skip
def test_what_is_odd_is_told_and_the_rest_is_served(
    tmp_path: Path, content: str, told: str
) -> None:
    done = _translated(tmp_path, content.encode())
    assert done.exit_code == 0
    assert told in done.stderr
    assert "good.example.com" in done.stdout


@pytest.mark.parametrize("content", [b"", b"---\n---\n", b"# nothing\n", b"\n \n"])
def test_an_empty_file_is_fine(tmp_path: Path, content: bytes) -> None:
    done = _translated(tmp_path, content)
    assert (done.exit_code, done.stderr) == (0, "")


def _translated(folder: Path, content: bytes) -> Result:
    (folder / "a-good.yaml").write_text(_GOOD)
    (folder / "bad.yaml").write_bytes(content)
    done = CliRunner().invoke(main, ["translate", "-f", str(folder), "-o", "json"])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    files = {name: manifest(name) for name in ("services.yaml", "live.yaml")}
    files["half.yaml"] = f"kind: [\n---\n{manifest('live.yaml').replace('live', 'half')}"
    with standalone.standalone(tmp_path_factory.mktemp("bad"), files) as instance:
        yield instance


@pytest.mark.envoy
def test_an_instance_starts_with_what_it_can_read(running: Standalone) -> None:
    assert running.ask("http://half.example.com/").backend == "one"
    running.until_logged("half.yaml:2")


@pytest.mark.envoy
@pytest.mark.parametrize("name", _BAD)
def test_a_running_instance_goes_on_with_what_it_has(running: Standalone, name: str) -> None:
    content, _ = _BAD[name]
    host = f"after-{list(_BAD).index(name)}"
    (running.manifests / "bad.yaml").write_bytes(content)
    running.write("guest.yaml", manifest("live.yaml").replace("live", host))
    running.until(f"http://{host}.example.com/", "one")
    running.until_logged("bad.yaml")
    assert running.ask("http://live.example.com/").backend == "one"
    assert "Traceback" not in running.log.read_text()


@pytest.mark.envoy
def test_a_file_that_may_not_be_read_or_is_no_file_harms_nothing(running: Standalone) -> None:
    os.mkfifo(running.manifests / "pipe.yaml")
    (running.manifests / "dangling.yaml").symlink_to("nowhere.yaml")
    (running.manifests / "folder.yaml").mkdir()
    running.write("guest.yaml", manifest("live.yaml").replace("live", "after-all"))
    running.until("http://after-all.example.com/", "one")
    assert running.process.code is None
