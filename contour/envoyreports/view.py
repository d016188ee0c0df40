"""What the Envoys of every replica report, as plain data: for debugging."""

from contour.envoyreports.merging import OWN, FleetReports
from contour.envoyreports.report import EnvoyReport


def fleet(of: FleetReports) -> dict[str, object]:
    """One fleet, by replica; ours has no name."""
    said = {OWN: of.own, **of.replicas}
    return {"fleet": of.fleet, "replicas": {name: _said(it) for name, it in sorted(said.items())}}


def _said(found: EnvoyReport) -> dict[str, object]:
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
