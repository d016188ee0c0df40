"""`contour diff`: what other manifests would change, by request, and what that would hurt."""

import sys
from collections.abc import Iterator
from typing import Literal

import click

from contour.answers.compared import Compared, Sent, ShownDifference, ShownUncompared
from contour.answers.subjects import named
from contour.cli import options, output, running, source, waiting

_HARMS = {
    "closed": "is served no more",
    "unguarded": "the guard is gone",
    "drained": "open connections end",
    "replaced": "pods are replaced",
}
_KEPT = "no valid EnvoyConfig has their node ID"


@click.command()
@click.option(
    "-f", "--filename", "paths", multiple=True, required=True, metavar="PATH",
    type=options.ManifestPath(),
    help="Manifests as they would be: a file, a folder (recursive), or - for standard input. Can "
    "be given several times. There is no default.",
)  # fmt: skip
@click.option(
    "--against", multiple=True, metavar="PATH", type=options.ManifestPath(),
    show_default="those of the running `contour run`, or what a cluster has",
    help="Manifests as they are. Can be given several times.",
)  # fmt: skip
@source.options
@options.controller_name
@click.option(
    "-o", "--output", "format_", type=click.Choice(["text", "json", "yaml"]), default="text",
    show_default=True, help="Output format: text for people, JSON or YAML for programs.",
)  # fmt: skip
def diff(
    paths: tuple[str, ...],
    against: tuple[str, ...],
    controller_name: str | None,
    format_: Literal["text", "json", "yaml"],
) -> None:
    """Shows which requests would be answered differently, and how.

    Both sides are evaluated as Envoy would read them; no Envoy is asked. Marked with !! is what
    hurts: a host or port that is served no more, a guard that is gone, connections that end, pods
    that are replaced; with ?? a route that could not be compared. In a cluster the manifests are
    what would be applied to it: objects that they do not name stay. Exit code 0 means no
    difference, 1 differences or such routes, 2 that a path cannot be read or that no instance
    runs, as for `kubectl diff`.
    """
    from contour import localbackends
    from contour.cli import manifestinput
    from contour.inspection import comparing

    source.refuse_contradictions(against)
    if "-" in paths and "-" in against:
        raise click.UsageError("standard input can be read only once: -f or --against needs a file")
    present: manifestinput.Present | None = None
    known = running.Followed(against) if against else running.followed()
    if known is None:
        from contour.cli import clusterinput

        known, present = running.Followed(()), clusterinput.present(source.chosen())
    sides = [
        manifestinput.read(
            it, controller_name, lenient=True, translates=True, present=present,
            backends=localbackends.named(known.backends),
        )
        for it in (known.paths, paths)
    ]  # fmt: skip
    for it in dict.fromkeys(line for side in sides for line in side.complaints):
        output.say(it, err=True)
    if any(side.is_unreadable for side in sides):
        sys.exit(2)
    if present is not None:
        manifestinput.require_configuration(present, sides[1], before=sides[0])
    old, new = ((it.controller.engine, it.fleets) for it in sides)
    with waiting.shown("comparing"):
        found = comparing.compared(old, new)
    if format_ == "text":
        output.say(*_lines(found))
    else:
        output.document(found, format_)
    if any(found.values()):
        sys.exit(1)


def _lines(found: Compared) -> Iterator[str]:
    told = [(_where(it), _difference(it)) for it in found["differences"]]
    told += [(_where(it), _uncompared(it)) for it in found["uncompared"]]
    place = ""
    for where, lines in told:
        if where != place:
            yield where
        place = where
        yield from lines
    for name, sent in found["fleets"].items():
        yield f"Envoys of the fleet {name} are sent: {_sent(sent)}"
    for name in found["kept"]:
        yield f"Envoys of the fleet {name} keep what they have: {_KEPT}"
    yield _summed(found)


def _where(it: ShownDifference | ShownUncompared) -> str:
    where = f"listener {it['listener']}" if it["listener"] else f"fleet {it['fleet']}"
    if not it["fleet"]:
        return "everything"
    return f"{it['host']} ({where})" if it["host"] else where


def _difference(it: ShownDifference) -> Iterator[str]:
    mark = "!!" if it["harm"] else "  "
    what = f"{it['what']}: " if it["what"] else ""
    aspect = "" if it["aspect"] == "answer" else f"{it['aspect']}: "
    harm = f" — {_HARMS[it['harm']]}" if it["harm"] else ""
    yield f"{mark} {what}{aspect}{it['before'] or 'none'} -> {it['after'] or 'none'}{harm}"
    if whose := ", ".join(map(named, it["objects"])):
        yield f"     by {whose}"
    if it["example"] and it["aspect"] == "answer":
        yield f"     such as {it['example']}"


def _uncompared(it: ShownUncompared) -> Iterator[str]:
    yield f"?? {it['what']}: not compared, since no request is known that this route takes"
    if whose := ", ".join(map(named, it["objects"])):
        yield f"     by {whose}"


def _sent(sent: Sent) -> str:
    kinds: tuple[Literal["added", "changed", "removed"], ...] = ("added", "changed", "removed")
    parts = [
        f"{section.replace('_', ' ')}: {count} {kind}"
        for kind in kinds
        for section, count in sent[kind].items()
    ]
    drained = sent["drainedChains"]
    return ", ".join(parts) + (f"; {drained} filter chains drain" if drained else "")


def _summed(found: Compared) -> str:
    count, unknown = len(found["differences"]), len(found["uncompared"])
    if not count and not unknown:
        sent = "no difference was found; Envoys are sent the above"
        return sent if found["fleets"] else "no request is answered differently"
    harms = sum(it["harm"] is not None for it in found["differences"])
    told = f"{count or 'no'} difference{'' if count == 1 else 's'}"
    told += f", {harms} harmful" if harms else ""
    return told + (f"; {unknown} route{'s' if unknown > 1 else ''} not compared" if unknown else "")
