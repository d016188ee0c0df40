"""The releases of the conformance suite and the servers that each deploys, built from Go modules.

For the command that runs it, and for tests that hold our claims against it. Built once, then kept
in the user's cache (`tests.golang`). A release is a folder of `hack/conformance-suite` with its own
go.mod, from which its CRDs come too: the suite refuses those of another release.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import golang
from tests.golang import Program

HOME = golang.ROOT / "hack" / "conformance-suite"
API = "sigs.k8s.io/gateway-api"
MODULE = f"{API}/conformance"

_SHELF = "conformance"
_SMALL = (*golang.FLAGS, "-ldflags=-s -w")


@dataclass(frozen=True, slots=True)
class Release:
    """A release of the suite, and of the API."""

    version: str
    servers: Mapping[str, Program]
    """What the suite deploys, by patterns of the names of images."""

    @property
    def home(self) -> Path:
        """Its Go module."""
        return HOME / self.version

    @property
    def suite(self) -> Program:
        """The suite itself."""
        return Program("suite", _SHELF, self.home, ("test", "-c", *_SMALL))

    def build(self) -> None:
        """Builds what is not there yet; minutes the first time."""
        for it in (self.suite, *self.servers.values()):
            it.build()

    def crds(self, channel: str) -> Path:
        """The folder with the CRDs of a channel. Raises `golang.MissingError`."""
        return golang.folder(self.home, API) / "config" / "crd" / channel

    def features(self) -> frozenset[str]:
        """The names of all features that the suite knows. Raises `golang.MissingError`."""
        sources = golang.folder(self.home, API) / "pkg" / "features"
        texts = (path.read_text() for path in sources.glob("*.go"))
        return frozenset(name for text in texts for name in _named(text))


_FEATURE = re.compile(r"\bSupport\w+(?:\s+FeatureName)?\s*=\s*\"(\w+)\"")


def _named(text: str) -> Iterator[str]:
    yield from _FEATURE.findall(text)


def _built(name: str, folder: str, package: str = ".") -> Program:
    return Program(name, _SHELF, HOME / folder, ("build", *_SMALL), package)


RELEASES: Mapping[str, Release] = {
    it.version: it
    for it in (
        Release(
            "v1.7.0",
            {
                "*/gateway-api/conformance/echo-basic:*": _built(
                    "echo-basic", "v1.7.0", f"{API}-conformance-images/echo-basic"
                )
            },
        ),
        Release(
            "v1.6.1",
            {
                "*/gateway-api/echo-basic:*": _built(
                    "echo-basic", "v1.6.1", f"{MODULE}/echo-basic"
                ),
                # With the plugins that the suite's configuration names.
                "*/coredns/coredns:*": _built("coredns", "coredns"),
            },
        ),
    )
}
"""The newest first."""
