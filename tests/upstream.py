"""CRDs and examples of the projects that ours is compared with.

`hack/upstream-data` copies those that Go modules have into the user's cache; a test never fetches
them. A folder with more of them, laid out in the same way, is taken before the cache: the one that
`UPSTREAM_DATA` names, or `../shared/data`.

What no module has is in such a folder alone (`_ELSEWHERE`). A test that needs what is not there is
skipped and says where it would come from; in CI it fails if the command could have fetched it.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import cache, golang

_HACK = golang.ROOT / "hack"
_CACHE = cache.folder("upstream")
_GIVEN = Path(os.environ.get("UPSTREAM_DATA") or golang.ROOT.parent / "shared" / "data")


@dataclass(frozen=True, slots=True)
class _Source:
    """A Go module that one of ours requires, and what is taken of it."""

    ours: Path
    name: str
    copied: Mapping[str, str]
    """A file or folder of it, by where it goes."""

    @property
    def release(self) -> str:
        """The one that ours requires."""
        return golang.required(self.ours, self.name)


_API = "sigs.k8s.io/gateway-api"
_CRDS = "config/crd"
_SOURCES = (
    _Source(_HACK / "kubernetes" / "gateway-api", _API, {"crds/gateway-api-v1.6.1": _CRDS}),
    _Source(
        _HACK / "conformance-suite" / "v1.7.0",
        _API,
        {"crds/gateway-api-v1.7.0": _CRDS, "manifests/gateway-api": "examples"},
    ),
    _Source(
        _HACK / "contour",
        "github.com/projectcontour/contour",
        {
            "crds/projectcontour/upstream-crds.yaml": "examples/contour/01-crds.yaml",
            "manifests/contour": "examples/example-workload",
        },
    ),
    _Source(
        _HACK / "extensionserver",
        "github.com/envoyproxy/gateway",
        {
            "crds/envoy-gateway/v1.9": "charts/gateway-helm/charts/crds/crds/generated",
            "manifests/envoy-gateway": "examples/kubernetes",
        },
    ),
)
_ELSEWHERE = {
    "crds/envoy-gateway/v0.5": "the CRDs of Envoy Gateway v0.5",
}
"""What the tests use and no module has that a Go proxy is sure to give."""


def folder(name: str) -> Path:
    """A folder or file of upstream's; skips the test if it is not at hand."""
    if found := _found(name):
        return found
    told = _told(name)
    if os.environ.get("CI") and not name.startswith(tuple(_ELSEWHERE)):
        pytest.fail(told)
    pytest.skip(told)


def manifests(name: str) -> Sequence[Path]:
    """Those in a folder of upstream's; none if it is not at hand."""
    found = _found(name)
    return sorted(found.rglob("*.yaml")) if found else ()


def _told(name: str) -> str:
    """Why a test is skipped."""
    if where := next((it for it in _ELSEWHERE if name.startswith(it)), None):
        return f"needs {_ELSEWHERE[where]} in {_GIVEN / where}: set UPSTREAM_DATA"
    return f"needs upstream's {name}: fetch it with `hack/upstream-data`"


def _found(name: str) -> Path | None:
    places = (_GIVEN, *map(_cached, _SOURCES))
    return next((it / name for it in places if (it / name).exists()), None)


def _cached(source: _Source) -> Path:
    """Where `fetch` puts what a module has: another release is another folder."""
    made = repr((source.name, source.release, sorted(source.copied.items())))
    return _CACHE / hashlib.sha256(made.encode()).hexdigest()[:16]


def lacking() -> Sequence[_Source]:
    """The modules of which something is not at hand."""
    return [it for it in _SOURCES if not all(map(_found, it.copied))]


def fetch() -> None:
    """Fetches what is lacking. Raises `golang.MissingError`."""
    for source in lacking():
        print(f"Fetching {source.name} {source.release} ...", file=sys.stderr)
        module, target = golang.folder(source.ours, source.name), _cached(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as made:
            fresh = Path(made, "fresh")
            for where, what in source.copied.items():
                _copy(module / what, fresh / where)
            fresh.rename(target)


def _copy(source: Path, target: Path) -> None:
    """A module is read-only; a copy is not."""
    for file in _manifests(source):
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())


def _manifests(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
    yield from (it for it in source.rglob("*.yaml") if it.name != "kustomization.yaml")


if __name__ == "__main__":
    if "--is-lacking" in sys.argv:
        sys.exit(not lacking())
    fetch()
