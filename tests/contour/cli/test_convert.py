"""`contour convert`, as users call it."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from contour.cli.convert import convert
from contour.conversion.ingressnginx import given
from tests.contour.conversion.ingressnginx.converting import HOST, ingress


def _run(*arguments: str, text: str = "") -> tuple[int, str, str]:
    done = CliRunner().invoke(convert, arguments, input=text)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    found = tmp_path / "before.yaml"
    other = ingress({"limit-rps": "5"}, "/limited", name="limited")
    foreign = ingress(name="foreign", ingressClassName="contour")
    found.write_text(yaml.safe_dump_all([ingress(), other, foreign]))
    return found


def test_what_is_left_out_is_told_and_counts(manifests: Path) -> None:
    code, out, told = _run("--from", "ingress-nginx", str(manifests))
    assert code == 1
    assert [it["metadata"]["name"] for it in yaml.load_all(out, yaml.CSafeLoader)] == ["web"]
    assert told.startswith("error: Ingress default/limited: nginx.ingress.kubernetes.io/limit-rps:")


def test_what_may_be_left_out_is_no_error(manifests: Path) -> None:
    arguments = ("--from", "ingress-nginx", "--without", "limit-rps", "--ingress-class", "edge")
    code, out, told = _run(*arguments, "-f", str(manifests), "-o", "json")
    assert (code, told) == (0, "")
    (document,) = yaml.load(out, yaml.CSafeLoader)["items"]
    assert document["spec"]["ingressClassName"] == "edge"
    assert len(document["spec"]["routes"]) == 3  # `Prefix /limited` is two


def test_other_classes_are_converted_on_demand(manifests: Path) -> None:
    _, out, _ = _run("--from", "ingress-nginx", "--from-class", "contour", str(manifests))
    assert [it["metadata"]["name"] for it in yaml.load_all(out, yaml.CSafeLoader)] == ["foreign"]


def _broken(tmp_path: Path, **changes: object) -> Path:
    """An Ingress for all of a host, and one with errors for a path of it."""
    found = tmp_path / "broken.yaml"
    broken = ingress(None, "/limited", name="broken")
    broken["metadata"] |= changes.pop("metadata", {})
    found.write_text(yaml.safe_dump_all([ingress(), broken | changes]))
    return found


UNQUOTED = {"annotations": {f"{given.PREFIX}auth-url": "https://a.com", "enable-cors": True}}


def test_the_paths_of_an_ingress_with_errors_are_closed(tmp_path: Path) -> None:
    code, out, told = _run("--from", "ingress-nginx", str(_broken(tmp_path, metadata=UNQUOTED)))
    assert code == 1
    assert "Ingress default/broken: metadata.annotations.enable-cors: must be text" in told
    (document,) = yaml.load_all(out, yaml.CSafeLoader)
    closed = [it for it in document["spec"]["routes"] if "directResponsePolicy" in it]
    assert [it["conditions"] for it in closed] == [
        [{"prefix": "/limited/"}],
        [{"exact": "/limited"}],
    ]


@pytest.mark.parametrize("is_file", [True, False])
def test_without_the_paths_of_an_ingress_its_hosts_are_left_out(
    tmp_path: Path, *, is_file: bool
) -> None:
    rules = [{"host": HOST, "http": {"paths": [{"path": "limited"}]}}]
    path = _broken(tmp_path, spec={"rules": rules})
    arguments = ("--from", "ingress-nginx", str(path) if is_file else "-")
    code, out, told = _run(*arguments, text="" if is_file else path.read_text())
    assert (code, out.strip()) == (1, "")
    assert f"{HOST} is left out" in told if is_file else "nothing is converted" in told


@pytest.mark.parametrize("source", ["contour", "ingress-nginx"])
def test_a_path_that_is_not_there_is_told(source: str) -> None:
    code, out, told = _run("--from", source, "nowhere.yaml")
    assert (code, out) == (2, "")
    assert "nowhere.yaml" in told


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("contour", "a: ["),
        ("contour", "kind: ConfigMap\ndata: {contour.yaml: 'a: ['}"),
        ("ingress-nginx", "a: ["),
    ],
)
def test_what_cannot_be_read_is_told(source: str, text: str) -> None:
    code, _, told = _run("--from", source, "-", text=text)
    assert code == 2
    assert told.startswith("error: ")


def test_what_is_there_and_refused_is_not_called_missing() -> None:
    annotations = "{nginx.ingress.kubernetes.io/limit-rps: 5}"
    text = f"""{{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {{}},
    metadata: {{name: a, annotations: {annotations}}}}}"""
    code, out, told = _run("--from", "ingress-nginx", "-", text=text)
    assert (code, out) == (1, "")
    assert "limit-rps: must be text, not 5; write it in quotes" in told
    assert "was found" not in told


def test_nothing_is_told() -> None:
    code, out, told = _run("--from", "contour", "-", text="kind: Service\n")
    assert (code, out, told) == (0, "", "warning: nothing of contour was found\n")


def test_no_path_is_a_mistake() -> None:
    code, _, told = _run("--from", "contour")
    assert code == 2
    assert "name the manifests" in told
