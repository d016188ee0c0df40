"""The table of attacks as data: `table/*.yaml`, one file for each class of attacks.

A row says what the attack is, what goes in, what must never happen and what is told. It is shown in
one of three ways: `tried` (the manifests of the row are translated, by test_attacks.py), `proved`
(the ids of tests elsewhere), or `untested` (why it cannot be tried here).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import yaml

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

FOLDER = Path(__file__).parent / "table"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """Manifests with `$it` in the place of what an attacker writes, and what stands there."""

    manifests: str
    harmless: Json = ""
    """What is served: without it nobody would know whether the rest of the manifests are good."""
    refused: tuple[Json, ...] = ()
    """What is told, and of which `served` is no more to be found than without the manifests."""
    inert: tuple[Json, ...] = ()
    """What is a value and nothing else: all but the value is as with what is harmless."""
    is_formatted: bool = False
    """Envoy reads operators in the value: each `%` of what is inert must be written as two."""
    served: str = "$it"
    """A text that the configuration has if `$it` is served."""
    told: str = ""
    """A text that is told of what is refused, and not of what is harmless."""
    routes: tuple[str, ...] | None = None
    """All routes but the neighbour's, where `$it` is refused: `HOST MATCH -> ACTION`."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One attack."""

    attack: str
    seen: tuple[str, ...]
    """Advisories and pull requests that tell of it; empty if it is our own idea."""
    input: str
    never: str
    told: str
    tried: Tried | None = None
    proved: tuple[str, ...] = ()
    untested: str = ""

    @property
    def ways(self) -> int:
        """In how many ways the row is shown."""
        return sum(map(bool, (self.tried, self.proved, self.untested)))


@cache
def table() -> tuple[Row, ...]:
    """Every row of every file."""
    return tuple(_rows())


def _rows() -> Iterator[Row]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for fields in yaml.safe_load(path.read_text()):
            tried = fields.pop("tried", None)
            lists = {name: tuple(fields.pop(name, ())) for name in ("seen", "proved")}
            yield Row(**{**fields, **lists}, tried=_tried(tried) if tried else None)


def _tried(fields: dict[str, Json]) -> Tried:
    made: dict[str, object] = {name: _long(it) for name, it in fields.items()}
    for name in ("refused", "inert", "routes"):
        if isinstance(found := made.get(name), list):
            made[name] = tuple(found)
    return Tried(**made)  # type: ignore[arg-type]


def _long(value: Json) -> Json:
    """With `{times: 9000, of: a}` written out."""
    match value:
        case {"times": int(times), "of": str(text)}:
            return text * times
        case dict():
            return {name: _long(it) for name, it in value.items()}
        case list():
            return [_long(it) for it in value]
    return value
