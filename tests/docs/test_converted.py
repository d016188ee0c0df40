"""The pages for those who come from other controllers: their examples, and their tables."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from contour.conversion import contourflags
from contour.conversion.ingressnginx import annotations
from contour.files import upstream
from dag.foreign import nginx
from tests.testbed import processes
from tests.testbed.processes import ROOT

PAGES = {"ingress-nginx": "coming-from-ingress-nginx.md", "contour": "coming-from-contour.md"}


@pytest.mark.parametrize("source", PAGES)
def test_the_example_is_converted_as_the_page_says(source: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / PAGES[source]).read_text()
    before, after = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[:2]
    (said,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    (tmp_path / "before.yaml").write_text(before)
    command = [*processes.CONTOUR, "convert", "--from", source, "before.yaml"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == after
    assert done.stderr == said
    assert done.returncode == 0


def _annotations() -> Iterable[str]:
    yield "| annotation | effect | converted |"
    yield "|---|---|---|"
    for name, it in sorted(nginx.ANNOTATIONS.items()):
        if it.effect != "harmless":
            instead = f"no; see {it.instead}" if it.instead else "no"
            effect = "guard" if name in annotations.RESTRICTING else it.effect
            yield f"| `{name}` | {effect} | {'yes' if _is_converted(name) else instead} |"


def _is_converted(name: str) -> bool:
    return name in annotations.CONVERTED


def _settings(found: Mapping[str, str]) -> Iterable[str]:
    yield "| setting | here |"
    yield "|---|---|"
    for name, where in sorted(found.items()):
        here = f"`{where}`" if where.startswith("spec") and " " not in where else where
        yield f"| `{name}` | {here or 'no counterpart'} |"


@pytest.mark.parametrize(
    ("page", "name", "rows"),
    [
        (PAGES["ingress-nginx"], "annotations", _annotations()),
        (PAGES["contour"], "settings", _settings(upstream.FILE_SETTINGS)),
        (PAGES["contour"], "flags", _settings(contourflags.FIELDS)),
        (PAGES["contour"], "deployment", _settings(upstream.DEPLOYMENT_SETTINGS)),
    ],
)
def test_the_table_is_complete(page: str, name: str, rows: Iterable[str]) -> None:
    text = (ROOT / "docs" / page).read_text()
    (found,) = re.findall(rf"<!-- generated: {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert found.splitlines() == list(rows)
