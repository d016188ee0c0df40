"""Reasons are upstream's where upstream has them, and explained where it has none."""

import re
from pathlib import Path

from dag.problems.reasons import Contour, Gateway, Own
from tests.dag.problems import upstream

_DOCUMENT = Path(__file__).parents[3] / "docs" / "troubleshooting.md"


def test_contours_reasons_are_contours() -> None:
    assert set(Contour) <= upstream.CONTOUR


def test_the_gateway_apis_reasons_are_its_own_or_those_of_envoy_gateway() -> None:
    assert set(Gateway) <= upstream.GATEWAY | upstream.ENVOY_GATEWAY


def test_our_own_reasons_are_none_of_theirs() -> None:
    assert not set(Own) & (upstream.CONTOUR | upstream.GATEWAY | upstream.ENVOY_GATEWAY)


def test_our_own_reasons_are_the_ones_that_are_explained() -> None:
    section = _DOCUMENT.read_text().split("\n## Reasons\n")[1].split("\n## ")[0]
    explained = re.findall(r"^\| `(\w+)` \|", section, re.M)
    assert explained == sorted(map(str, Own))
