"""What docs/coming-from-envoy-gateway.md says of the configuration file is what is read of it."""

import re
from collections.abc import Iterator
from pathlib import Path

from contour.configfile import reading, translation
from crds import shape
from crds.envoygateway.configfile import EnvoyGateway, Irrelevant
from crds.meta import NamespacedName
from crds.unserved import Unserved
from tests.testbed.processes import ROOT

PAGE = (ROOT / "docs/coming-from-envoy-gateway.md").read_text()
TABLE = PAGE.split("## The fields of the file")[1].split("\n## ")[0]


def test_the_example_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(PAGE.split("```yaml\n")[1].partition("```")[0])
    found = reading.read(path)
    assert not found.warnings
    it = translation.translated(found.written, NamespacedName("home", "contour"), "serve")
    gateway = it.configuration.spec.gateway
    assert gateway is not None
    assert f"`{gateway.controller_name}`" in PAGE


def test_every_field_that_is_not_served_is_named_and_no_other() -> None:
    named = set(re.findall(r"\b[a-z]\w+", " ".join(re.findall(r"`([^`]+)`", TABLE))))
    fields = dict(_fields(EnvoyGateway, ""))
    for path in fields:
        above = [it for it in fields if f"{path}.".startswith(f"{it}.")]
        marks = [_mark(fields[it]) for it in above]
        if any(marks):
            assert any(it.rpartition(".")[2] in named for it in above), path
    unknown = named - {step for it in fields for step in it.split(".")} - WORDS
    assert not unknown


WORDS = {"admin", "contour", "extensions", "serve", "true", "false", "translation", "default",
         "leader", "election", "lease", "duration"}  # fmt: skip


def _mark(field: shape.FieldShape) -> bool:
    return any((shape.mark(field, Unserved), shape.mark(field, Irrelevant)))


def _fields(model: type, above: str) -> Iterator[tuple[str, shape.FieldShape]]:
    for name, field in shape.fields(model).items():
        yield f"{above}{name}", field
        if field.model is not None:
            yield from _fields(field.model, f"{above}{name}.")
