"""`contour config`: what every Envoy has been sent, has accepted, refuses and waits for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import click

from contour.answers.shown import Envoy, Fleet, Type
from contour.cli import output, running, source, xdsview


@click.command()
@source.options
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
@click.option(
    "--raw", is_flag=True,
    help="Count the shards of a listener's RouteConfigurations one by one in the table. Without "
    "it, the shards of a listener count as one.",
)  # fmt: skip
def config(format_: Literal["table", "json", "yaml"], raw: bool) -> None:
    """Shows what the Envoys of a running instance have accepted and refused.

    For each xDS type: the number of accepted and of pending resources, the error message of each
    refused resource, and what held-back resources wait for.
    """
    fleets = _joined(running.fleets())
    if format_ == "table":
        _print(fleets, raw=raw)
    else:
        output.document(fleets, format_)


def _joined(pages: Mapping[str, list[Fleet]]) -> list[Fleet]:
    """The fleets of all replicas; each Envoy says on which replica it hangs."""
    found: list[Fleet] = []
    for pod, fleets in pages.items():
        for fleet in fleets:
            for it in fleet["envoys"] if pod else ():
                it["replica"] = pod
            same = next((it for it in found if it["fleet"] == fleet["fleet"]), None)
            if same is None:
                found.append(fleet)
            else:
                same["envoys"] += fleet["envoys"]
                known = same["quarantine"]
                known += [it for it in fleet["quarantine"] if it not in known]
    return found


def _print(fleets: list[Fleet], *, raw: bool) -> None:
    rows = [
        tuple(_row(fleet, _name(envoy), type_, set() if raw else _scopes(envoy)))
        for fleet in fleets
        for envoy in fleet["envoys"]
        for type_ in envoy["types"]
    ]
    output.table(("Fleet", "Envoy", "Type", "Accepted", "Pending", "Why"), rows)


def _name(envoy: Envoy) -> str:
    of = envoy.get("namespace")
    return f"{envoy['id']} in {of}" if of else envoy["id"]


def _scopes(envoy: Envoy) -> set[str]:
    scoped = (it for it in envoy["types"] if it["type"].endswith(".ScopedRouteConfiguration"))
    return {name for it in scoped for name in it["versions"]}


def _row(fleet: Fleet, envoy: str, type_: Type, scopes: set[str]) -> Iterator[output.Cell]:
    def counted(names: Iterable[str]) -> set[str]:
        return {xdsview.listener(it, scopes) for it in names}

    without = _refused_without_another(fleet, type_)
    versions = {**dict.fromkeys(without), **type_["versions"]}
    pending = counted((*type_["unsent"], *type_["unanswered"], *type_["waiting"]))
    unaccepted = counted(name for name, version in versions.items() if version is None)
    accepted = len(counted(versions) - unaccepted)
    yield fleet["fleet"], ""
    yield envoy, ""
    yield type_["type"].rpartition(".")[2], ""
    yield f"{accepted} of {len(counted(versions))}", "green" if not pending else "yellow"
    yield str(len(pending)), ""
    yield "\n".join(_reasons(type_, without)), "red"


_Refused = dict[str, dict[str, str]]
"""Envoy's error messages, by resource and part."""


def _refused_without_another(fleet: Fleet, type_: Type) -> _Refused:
    """What all Envoys refuse, and of which no version was accepted: nothing of it is served."""
    found: _Refused = {}
    for it in fleet["quarantine"]:
        name = it["name"]
        if it["type"] == type_["type"] and type_["versions"].get(name) is None:
            found.setdefault(name, {})[it["part"]] = it["refusal"]
    return found


def _reasons(type_: Type, without: _Refused) -> Iterator[str]:
    for name, parts in {**without, **type_["refused"]}.items():
        for part, words in parts.items():
            yield f"refuses {part or 'all'} of {name}: {words}"
    for name, why in type_.get("malformed", {}).items():
        yield f"asks for {name!r}, which is no name: {why}"
    for name, waiting in type_["waiting"].items():
        for part, needs in waiting.items():
            yield f"{part or 'all'} of {name} waits for {', '.join(needs)}"
