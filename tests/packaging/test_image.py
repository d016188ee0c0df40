"""The recipe of the image. No container runtime is here: its commands run in a folder instead."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.testbed.processes import ROOT

HERE = Path(sys.executable).parent
LOCK = ROOT / "requirements.lock"


def instructions() -> Iterator[tuple[str, str]]:
    """Those of the Dockerfile, in their order."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        name, _, rest = line.strip().partition(" ")
        if name:
            yield name, rest


def locked() -> dict[str, tuple[str, int]]:
    """The packages of the lock file: their versions and how many hashes they have."""
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", LOCK.read_text(), flags=re.MULTILINE))
    found: dict[str, tuple[str, int]] = {}
    for it in entries:
        name, _, version = re.split(r"[ ;\\]", it, maxsplit=1)[0].partition("==")
        found[canonicalize_name(name)] = (version.strip(), it.count("--hash=sha256:"))
    return found


def test_the_lock_file_has_what_the_image_needs_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["operator"],
        *project["build-system"]["requires"],
    ]
    found = locked()
    for it in map(Requirement, needed):
        version, _ = found[canonicalize_name(it.name)]
        assert it.specifier.contains(version), f"{it} is locked as {version}: run hack/lock"
    assert all(hashes for _, hashes in found.values())


def test_the_tests_run_with_the_versions_of_the_image() -> None:
    found: dict[str, set[str]] = {}  # several where they depend on the version of Python
    for it in (ROOT / "hack" / "constraints.txt").read_text().splitlines():
        if not it.startswith("#"):
            entry = Requirement(it)
            found.setdefault(canonicalize_name(entry.name), set()).add(str(entry.specifier))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = {canonicalize_name(Requirement(it).name) for its in extras.values() for it in its}
    assert named - {"contour-ingress"} <= found.keys(), "run hack/lock"
    in_both = {name: version for name, (version, _) in locked().items() if name in found}
    assert len(in_both) > 20
    assert {name: {f"=={it}"} for name, it in in_both.items()} == {it: found[it] for it in in_both}


def test_the_image_runs_as_nobody_and_is_for_every_platform() -> None:
    found = list(instructions())
    assert ("USER", "65532:65532") in found
    assert not any("--platform" in rest for name, rest in found if name == "FROM")


def test_the_recipe_is_clean() -> None:
    done = subprocess.run(
        [HERE / "hadolint", ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture(scope="module", name="program")
def _program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every COPY and RUN of the first stage makes, with folders of ours for the image's."""
    folder = tmp_path_factory.mktemp("image")
    program, source = folder / "contour", folder / "source"
    source.mkdir()
    allowed = {it[1:] for it in (ROOT / ".dockerignore").read_text().split() if it[0] == "!"}
    for name, rest in instructions():
        if name == "COPY" and "--from" not in rest:
            *what, target = shlex.split(rest)
            assert set(what) <= allowed, f"{what}: .dockerignore leaves it out"
            for it in what:
                _copy(ROOT / it, source / (target if target == it else it))
        elif name == "RUN":
            _run(rest.replace("/opt/contour", str(program)), source)
    return program


@pytest.mark.timeout(600)
def test_the_commands_of_the_recipe_make_a_program_that_runs(program: Path) -> None:
    said = subprocess.run(
        [program / "bin" / "contour", "version"], cwd="/", env={}, capture_output=True, check=True
    )
    assert b"contour-ingress" in said.stdout
    assert not (program / "bin" / "pip").exists()
    assert (program / "bin" / "contour-operator").exists()


@pytest.mark.timeout(600)
def test_bytecode_does_not_depend_on_the_times_of_files(program: Path) -> None:
    """A builder that sets them would else have every start compile all modules anew."""
    compiled = [*program.rglob("*.pyc")]
    assert len(compiled) > 1000
    unchecked = b"\x01\0\0\0"  # PEP 552: by hash, not compared with the source
    assert {it.read_bytes()[4:8] for it in compiled} == {unchecked}


@pytest.mark.timeout(600)
def test_the_list_of_packages_has_those_that_the_program_needs(
    program: Path, tmp_path: Path
) -> None:
    path = tmp_path / "sbom.json"
    subprocess.run([ROOT / "hack" / "sbom", path, program / "bin" / "python"], check=True)
    made = json.loads(path.read_text())
    names = {it["bom-ref"]: canonicalize_name(it["name"]) for it in made["components"]}
    known = {name: version for name, (version, _) in locked().items()}
    for it in made["components"]:
        assert it["name"] == "contour-ingress" or it["version"] == known[names[it["bom-ref"]]]
    needs = {it["ref"]: it.get("dependsOn", ()) for it in made["dependencies"]}
    reached = {made["metadata"]["component"]["bom-ref"]}
    found = [*reached]
    while found:
        found = [it for ref in found for it in needs.get(ref, ()) if it not in reached]
        reached |= {*found}
    assert {names[it] for it in reached & set(names)} == set(names.values())
    assert {"aiohttp", "grpcio", "kopf"} <= set(names.values())


def _copy(source: Path, target: Path) -> None:
    """A folder, or a file."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _run(command: str, folder: Path) -> None:
    path = f"{Path(sys.base_prefix, 'bin')}:/usr/bin:/bin"
    done = subprocess.run(
        ["sh", "-e", "-c", command], cwd=folder, env={"PATH": path, "HOME": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}"
