"""Gathers data from the `contour run` on this machine: its pages, its manifests, its Envoy and its
logs."""

import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from contour import rundir
from contour.collecting import redaction
from contour.collecting.archive import Archive
from contour.complaints import ManifestSource
from contour.files import documents, listing, parse, reading
from contour.host import ADMIN
from contour.inspection import connections
from crds import decode, raw

LONGEST = 1 << 20
"""The last bytes of each log."""
_PAGES = ("objects", "config", "findings", "manifests")
_LOGS = ("envoy.log", "access.log", "ratelimit.log")


def gather(directory: Path, into: Archive, progress: Callable[[str], None]) -> None:
    """Puts everything into the archive. Raises OSError if no instance answers."""
    address = rundir.socket(directory, rundir.INSPECTION)
    progress("what the instance tells")
    told = {it: _page(address, it, into) for it in _PAGES}
    progress("manifests")
    _manifests([Path(str(raw.at(it, "path"))) for it in raw.items(told["manifests"])], into)
    progress("Envoy")
    try:
        into.numbers(
            "envoy/metrics.txt", _asked(rundir.socket(directory, ADMIN), "/stats/prometheus")
        )
        bootstrap: object = json.loads((directory / "bootstrap.json").read_bytes())
        into.data("envoy/bootstrap.json", bootstrap)
    except (OSError, http.client.HTTPException, ValueError) as error:
        into.lacks("Envoy", error)
    for name in _LOGS:
        try:
            into.log(f"logs/{name}", tail(directory / name))
        except FileNotFoundError:
            pass
        except OSError as error:
            into.lacks(f"logs/{name}", error)


def _page(address: Path, name: str, into: Archive) -> object:
    file = f"instance/{name}.json"
    try:
        found: object = json.loads(_asked(address, f"/{name}"))
    except ValueError as error:
        into.lacks(file, error)
        return ()
    into.data(file, found)
    return found


def _asked(address: Path, path: str) -> bytes:
    """Raises OSError if nobody is there, ValueError if the page has failed."""
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.settimeout(connections.TIMEOUT)
        connected.connect(str(address))
        reply = connections.Connection(connected).ask(path)
    finally:
        connected.close()
    if reply.status != http.client.OK:
        raise ValueError(f"{address} answers {reply.status} to {path}")
    return reply.body


def _manifests(paths: list[Path], into: Archive) -> None:
    for number, (file, source) in enumerate(_files(paths)):
        found: list[object] = []
        try:
            for text in documents.texts(reading.content(source).raw):
                items = decode.items(parse.value(text.raw))
                found += [redaction.thing(it) for it in items if raw.is_mapping(it)]
        except (OSError, parse.MalformedError) as error:
            into.lacks(f"the rest of {file}", error)
        into.data(f"manifests/{number:04}-{file.name}.json", found)


def _files(paths: list[Path]) -> Iterator[tuple[Path, ManifestSource]]:
    """Every manifest that is followed, but for standard input, which `contour run` has read."""
    roots = [ManifestSource(str(it)) for it in paths if it.exists()]
    for it in listing.listed(roots, frozenset()).files:
        yield Path(str(it)), it


def tail(path: Path) -> str:
    """The last lines of a log. Half a line could not be redacted: nobody can tell what it is."""
    with path.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        if size > LONGEST:
            opened.seek(size - LONGEST - 1)
            opened.readline()
        else:
            opened.seek(0)
        return opened.read().decode(errors="replace")
