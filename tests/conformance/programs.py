"""The conformance suite and the servers that it deploys, built from Go modules of a fixed version.

For the command that runs it, and for tests that hold our claims against it. Built once, then kept
in the user's cache (`tests.golang`).
"""

import re
from collections.abc import Iterator

from tests import golang

HOME = golang.ROOT / "hack" / "conformance-suite"
API = "sigs.k8s.io/gateway-api"
MODULE = f"{API}/conformance"

_SHELF = "conformance"
_SMALL = (*golang.FLAGS, "-ldflags=-s -w")

SUITE = golang.Program("suite", _SHELF, HOME, ("test", "-c", *_SMALL))
ECHO = golang.Program("echo-basic", _SHELF, HOME, ("build", *_SMALL), f"{MODULE}/echo-basic")
"""Every backend of the suite but one."""
DNS = golang.Program("coredns", _SHELF, HOME / "coredns", ("build", *_SMALL))
"""The other: CoreDNS, with the plugins that the suite's configuration names."""


def build() -> None:
    """Builds what is not there yet; minutes the first time."""
    for it in (SUITE, ECHO, DNS):
        it.build()


def version() -> str:
    """Of the suite, and of the CRDs that it demands."""
    return golang.required(HOME, MODULE)


def features() -> frozenset[str]:
    """The names of all features that the suite knows. Raises `golang.MissingError`."""
    return frozenset(_named())


_FEATURE = re.compile(r"\bSupport\w+(?:\s+FeatureName)?\s*=\s*\"(\w+)\"")


def _named() -> Iterator[str]:
    sources = golang.folder(HOME, API) / "pkg" / "features"
    for path in sources.glob("*.go"):
        yield from _FEATURE.findall(path.read_text())
