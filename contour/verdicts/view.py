"""What the Envoys of every replica say, as plain data: for those who look into a fault."""

from typing import Any

from contour.verdicts.merging import OWN, Verdicts
from contour.verdicts.testimony import Testimony


def fleet(of: Verdicts) -> dict[str, Any]:
    """One fleet, by replica; ours has no name."""
    said = {OWN: of.own, **of.replicas}
    return {"fleet": of.fleet, "replicas": {name: _said(it) for name, it in sorted(said.items())}}


def _said(found: Testimony) -> dict[str, Any]:
    return {
        "envoys": found.envoys,
        "listeners": {name: it._asdict() for name, it in sorted(found.listeners.items())},
        "refusals": [
            {
                "type": name.type_url,
                "name": name.name,
                "part": part,
                "objects": [str(origin) for origin in it.origins],
                "words": it.words,
            }
            for (name, part), it in sorted(found.refusals.items())
        ],
    }
