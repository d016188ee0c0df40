"""Annotations that somebody brings along from another controller."""

from random import Random
from typing import Any

from dag.foreign.known import PROJECTS

Document = dict[str, Any]

_VALUES = (
    "true",
    "false",
    "",
    "1",
    "10.0.0.0/8",
    "https://a.com/$1?a=%20",
    "a: b\n",
    "ü\t%",
    "x" * 300,
)
_OF = {
    effect: sorted(
        f"{prefix}/{name}"
        for prefix, project in PROJECTS.items()
        for table in project.tables
        for name, it in table.items()
        if (it.effect == "guard") == (effect == "guard")
    )
    for effect in ("guard", "other")
}


def annotate(documents: list[Document], seed: int) -> None:
    """Puts some on a share of the objects; guards on few, for these are closed."""
    chance = Random(seed)
    for document in documents:
        if chance.random() < 0.3:
            found = chance.sample(_OF["other"], 3) + chance.sample(
                _OF["guard"], chance.random() < 0.1
            )
            made = {name: chance.choice(_VALUES) for name in found}
            document["metadata"]["annotations"] = made
