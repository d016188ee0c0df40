"""Prometheus' own parsers of rules and queries, built once from the module in hack/prometheus."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import golang

PARSERS = golang.Program(
    "prometheus-rules",
    "prometheus",
    golang.ROOT / "hack" / "prometheus",
    ("build", *golang.FLAGS, "-ldflags=-s -w"),
)


class Report(NamedTuple):
    """What the parsers report."""

    errors: list[str]
    metrics: Mapping[str, list[str]]
    """By expression: the metrics that it selects."""


def read(rules: Iterable[Path], queries: Iterable[str]) -> Report:
    """Reads files of rules, and queries. Skips the test where the parsers are not built."""
    if not PARSERS.path.is_file() and "CI" not in os.environ:
        pytest.skip("Prometheus' parsers are not built: hack/rules builds them")
    done = subprocess.run(
        [PARSERS.path, *rules], input="\n".join(queries), capture_output=True, text=True, check=True
    )
    return Report(**json.loads(done.stdout))
