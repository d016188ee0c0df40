"""The bases for kustomize, built by the real one: equal to what `contour manifests` prints."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from tests.manifests.test_apply import rendered
from tests.testbed.processes import ROOT

BASES = {"": (), "managed": ("--managed",), "operator": ("--operator",)}
PLACE = ("--namespace=ingress", "--image=registry.example.com/contour-ingress:0.1.0")
Objects = dict[tuple[str, str, str], dict[str, Any]]


def built(folder: Path) -> Objects:
    """What kustomize makes of a folder."""
    kubectl = Path(sys.executable).with_name("kubectl")
    done = subprocess.run(
        [kubectl, "kustomize", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return _objects(done.stdout)


def _objects(text: str) -> Objects:
    found = [it for it in yaml.load_all(text, yaml.CSafeLoader) if it]
    named = {
        (it["kind"], it["metadata"].get("namespace", ""), it["metadata"]["name"]): it
        for it in found
    }
    assert len(named) == len(found)
    return named


@pytest.mark.parametrize("base", BASES)
def test_a_base_is_what_the_command_prints(base: str) -> None:
    assert built(ROOT / "manifests" / base) == _objects(rendered(*BASES[base]))


def test_every_base_is_documented() -> None:
    page = (ROOT / "docs" / "installation.md").read_text()
    found = [it.parent for it in (ROOT / "manifests").rglob("kustomization.yaml")]
    assert {str(it.relative_to(ROOT / "manifests")) for it in found} == {".", "managed", "operator"}
    assert all(f"`{it.relative_to(ROOT)}`" in page for it in found)


@pytest.mark.parametrize("base", ["", "managed"])
def test_the_overlay_of_the_page_is_what_the_command_prints_for_the_same_settings(
    tmp_path: Path, base: str
) -> None:
    """But for the names of two ClusterRoleBindings and of the Job, as the page says."""
    page = (ROOT / "docs" / "installation.md").read_text()
    (overlay,) = re.findall(r"```yaml\n(resources: .*?)```", page, re.DOTALL)
    copytree(ROOT / "manifests", tmp_path / "manifests")
    (tmp_path / "overlay").mkdir()
    written = overlay.replace("manifests/managed", f"manifests/{base}".rstrip("/"))
    (tmp_path / "overlay" / "kustomization.yaml").write_text(written)
    found, wanted = built(tmp_path / "overlay"), _objects(rendered(*PLACE, *BASES[base]))
    for it in (found, wanted):  # a patch can add an argument at the end
        _arguments(it).sort()
    renamed = {key: it for key, it in found.items() if key not in wanted}
    kept = {key: it for key, it in wanted.items() if key not in found}
    assert {key: it for key, it in found.items() if key in wanted} == {
        key: it for key, it in wanted.items() if key in found
    }
    assert sorted(kind for kind, _, _ in renamed) == [*["ClusterRoleBinding"] * 2, "Job"]
    assert sorted(map(_unnamed, renamed.values())) == sorted(map(_unnamed, kept.values()))


def _arguments(objects: Objects) -> list[str]:
    pod = objects["Deployment", "ingress", "contour"]["spec"]["template"]["spec"]
    found: list[str] = pod["containers"][0]["args"]
    return found


def _unnamed(document: dict[str, Any]) -> str:
    metadata = {name: it for name, it in document["metadata"].items() if name != "name"}
    return yaml.safe_dump({**document, "metadata": metadata})
