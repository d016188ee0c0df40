"""What the product makes of manifests that an attacker wrote, beside a neighbour that did nothing.

The way is that of `contour translate`: files in, the whole product, resources and statuses out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from contour.cli import manifestinput, xdsview
from dag.fleetnames import DEFAULT_FLEET
from tests.attacks.rows import Json
from tests.testbed import pairs

NEIGHBOUR = "good.example.com"
_BASE = Path(__file__).with_name("base.yaml")


@dataclass(frozen=True)
class Outcome:
    """What is served and told."""

    configuration: Json
    """All resources for Envoy."""
    routes: tuple[str, ...]
    """`HOST MATCH -> ACTION`, in the order in which Envoy tries them."""
    told: tuple[str, ...]
    """`KIND NAMESPACE/NAME: TEXT`, an entry for each thing that is told, documents included."""

    def count(self, text: str) -> int:
        """How often the resources have a text, in keys and in values."""
        return sum(it.count(text) for it in _texts(self.configuration))

    def of_neighbour(self) -> tuple[str, ...]:
        """What concerns those who did nothing."""
        routes = (it for it in self.routes if it.startswith(NEIGHBOUR))
        return (*routes, *(it for it in self.told if " good/web:" in it))

    def without(self, written: str) -> Json:
        """The resources with `$it` where they have a text."""
        return _replaced(self.configuration, written)


def outcome(folder: Path, manifests: str, value: Json) -> Outcome:
    """Of the manifests with this value, and the neighbour's."""
    documents = [_with(it, value) for it in yaml.safe_load_all(manifests)]
    return _outcome(folder, "\n---\n".join(map(json.dumps, documents)))


@cache
def before(folder: Path) -> Outcome:
    """Of the neighbour's alone."""
    return _outcome(folder, "")


def _outcome(folder: Path, text: str) -> Outcome:
    path = folder / "manifests.yaml"
    secrets = pairs.secret("pair", "good") + pairs.authority("authority", "good")
    path.write_text("\n---\n".join((_BASE.read_text(), secrets, text)))
    found = manifestinput.read((str(path),), lenient=False, translates=True)
    assert not found.controller.engine.failures
    shown = found.fleets.shown(DEFAULT_FLEET, every=False)
    rows = manifestinput.listed(found, every=True)
    told = (f"{it.subject}: {told}" for it in rows for told in it.reasons)
    routes = xdsview.routes(xdsview.joined(shown))
    return Outcome(
        json.loads(json.dumps(shown)),
        tuple(f"{it.host} {it.match} -> {it.action}" for it in routes),
        (*told, *found.complaints),
    )


def _with(template: Json, value: Json) -> Json:
    """A template with the value in the place of `$it`."""
    match template:
        case "$it":
            return value
        case str():
            return template.replace("$it", str(value))
        case list():
            return [_with(it, value) for it in template]
        case dict():
            return {str(_with(name, value)): _with(it, value) for name, it in template.items()}
    return template


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for it in value:
                yield from _texts(it)
        case dict():
            for name, it in value.items():
                yield name
                yield from _texts(it)


def _replaced(value: Json, written: str) -> Json:
    match value:
        case str():
            return value.replace(written, "$it")
        case list():
            return [_replaced(it, written) for it in value]
        case dict():
            return {
                name.replace(written, "$it"): _replaced(it, written) for name, it in value.items()
            }
    return value
