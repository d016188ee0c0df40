"""The protobuf definition of a type by its name, such as that of an extension in an `Any`.

Protobuf knows the definitions of the modules that were imported. There are over a thousand in the
packages of Envoy, so a package is imported when one of its types is first asked for.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import lru_cache

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor

_KEPT = 4096
"""The number of names that are cached. It is bounded, since foreign servers may send any names."""


@lru_cache(maxsize=_KEPT)
def of(name: str) -> Descriptor | None:
    """The definition of a type; None if our packages have none of that name."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        return None
    pool = descriptor_pool.Default()
    for package in _packages(name):
        _load(package)
        try:
            return pool.FindMessageTypeByName(name)
        except KeyError:
            continue
    return None


def _packages(name: str) -> Iterator[str]:
    """The possible packages of a type, which may be nested in another type."""
    package = name.rpartition(".")[0]
    while package.startswith(("envoy.", "xds.", "udpa.", "google.protobuf")):
        yield package
        package = package.rpartition(".")[0]


@lru_cache(maxsize=_KEPT)
def _load(package: str) -> None:
    """Makes the definitions of a package known to protobuf, which knows what was imported."""
    try:
        folder = importlib.import_module(package)
    except ImportError:
        return
    for it in pkgutil.iter_modules(folder.__path__ if hasattr(folder, "__path__") else ()):
        if it.name.endswith("_pb2"):
            importlib.import_module(f"{package}.{it.name}")
