"""How the suite is asked: its arguments, from what the user of `hack/conformance` wants.

Which features are tested is not said: the suite takes them from the status of our GatewayClass, so
that what is tested is what is claimed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

GATEWAY_CLASS = "contour"
PROFILES = ("GATEWAY-HTTP", "GATEWAY-GRPC", "GATEWAY-TLS", "GATEWAY-TCP", "GATEWAY-UDP")
MODE = "per-gateway"
"""Every Gateway on Envoys of its own, `spec.gateway.mode: PerGateway`."""
IMPLEMENTATION: Mapping[str, str] = {
    "organization": "contour-ingress",
    "project": "contour-ingress",
    "url": "https://contour-ingress.example",
    "version": f"v{metadata.version('contour-ingress')}",
    "contact": "maintainers@contour-ingress.example",
}
PATIENCE: Mapping[str, int] = {
    # Two cores start two dozen pods first; consistency stays at the 30 s that the suite demands.
    "NamespacesMustBeReady": 600,
    "DefaultTestTimeout": 120,
    # v1.7 waits until what it deletes is gone. Envoys of a deleted Gateway drain for up to 280 s,
    # for the suite holds connections to them, and their namespace is gone after they are.
    "DeleteTimeout": 420,
}
"""Seconds. The suite reads `Name:seconds`, and ignores what it cannot read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be run."""

    tests: Sequence[str] = ()
    """By their short names; none: all."""
    profiles: Sequence[str] = PROFILES
    minutes: int = 60
    report: Path | None = None
    usable_address: str = ""
    unusable_address: str = ""


def arguments(wish: Wish) -> list[str]:
    """For the suite's program."""
    given = {
        "test.v": "true",
        "test.timeout": f"{wish.minutes}m",
        "gateway-class": GATEWAY_CLASS,
        "conformance-profiles": ",".join(wish.profiles),
        "mode": MODE,
        "usable-address": wish.usable_address,
        "unusable-address": wish.unusable_address,
        "timeout-config-overrides": ";".join(
            f"{name}:{seconds}" for name, seconds in PATIENCE.items()
        ),
    }
    if wish.tests:
        given["test.run"] = f"^TestConformance$/^({'|'.join(wish.tests)})$"
    elif wish.report:
        given |= {"report-output": str(wish.report), **IMPLEMENTATION}
    return [f"-{name}={value}" for name, value in given.items() if value]


WORDS: Mapping[str, str] = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


def verdicts(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The tests that the suite has run, as its output tells: name; PASS, FAIL or SKIP."""
    for line in lines:
        words = line.split()
        if line.startswith("    --- ") and len(words) > 2:
            yield words[2].removeprefix("TestConformance/"), words[1].rstrip(":")


def started(line: str) -> str:
    """The test that begins here, if one does; those that are skipped do not."""
    found = _STARTED.search(line)
    return found[1] if found else ""


_STARTED = re.compile(r": Running (\w+), relying on")
