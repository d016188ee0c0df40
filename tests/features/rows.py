"""Rows: what a user writes for the sake of a field, and what must then become of requests.

A file of a folder is a list of rows. `$host` in them is the row's own host, `$namespace` its own
namespace, `$port` a port of its own, `$NAME` the port of a peer, `$address` one of this machine. Of
every row there are variants: the row as it stands, and for each field that it proves one without
that field, on a host and in a namespace of its own.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import yaml

from crds.kinds import KINDS
from tests.e2e import incluster
from tests.features import edits
from tests.testbed.ports import free_port

FOLDER = Path(__file__).parent
DOMAIN = "example.com"
Document = dict[str, Any]
_KINDS = {it.kind: it for it in KINDS.values()}
_OF_FOLDER = {
    "gateway": "HTTPRoute",
    "httpproxy": "HTTPProxy",
    "ingress": "Ingress",
    "configuration": "ContourConfiguration",
    "tasks": "HTTPRoute",
}


class Proven(NamedTuple):
    """A field that a row proves."""

    kind: str
    path: str
    """Below `spec`; or `annotation NAME`."""
    instead: Any
    """What stands there in the variant without it; None if nothing does."""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


@dataclass(frozen=True)
class Row:
    """One of the list."""

    file: str
    """Below this folder, without its suffix."""
    row: str
    """What is proven, in a sentence."""
    given: Mapping[str, Any]
    """Specs (of Secrets and the like the rest of the object), by kind and name."""
    asks: tuple[Mapping[str, Any], ...]
    proves: Any
    wrong: str = ""
    """What the user is told of it; nothing if empty."""
    told_without: tuple[str, ...] = ()
    """Those of the fields that the user is told of when they are missing; `all` means every one."""
    page: str = ""
    """The task page of Envoy Gateway with the meaning of the row, in the section of the file."""

    def __str__(self) -> str:
        return f"{self.file}: {self.row}"

    @cached_property
    def proven(self) -> tuple[Proven, ...]:
        found = self.proves
        if isinstance(found, str):
            found = [found]
        if isinstance(found, list):
            found = dict.fromkeys(found)
        return tuple(self._proven(path, instead) for path, instead in found.items())

    def _proven(self, path: str, instead: Any) -> Proven:
        kind, _, rest = path.partition(" ")
        if kind in _KINDS:
            return Proven(kind, rest, instead)
        return Proven(_OF_FOLDER[self.file.partition("/")[0]], path, instead)

    @cached_property
    def variants(self) -> tuple["Variant", ...]:
        """The row as it stands, then without each of its fields."""
        return (Variant(self, None), *(Variant(self, it) for it in self.proven))


@dataclass(frozen=True)
class Variant:
    """A row as it stands, or without one of the fields that it proves."""

    row: Row
    without: Proven | None

    @cached_property
    def name(self) -> str:
        """A label: of the host, and of the namespace."""
        words = re.sub(r"[^a-z0-9]+", "-", self.row.row.lower())[:56].strip("-")
        if self.without is None:
            return words
        return f"{words}-no-{self.row.proven.index(self.without)}"

    @property
    def is_told(self) -> bool:
        """Whether the user is told that something is wrong."""
        if self.without is None:
            return bool(self.row.wrong)
        return bool({"all", self.without.path} & set(self.row.told_without))

    @cached_property
    def names(self) -> dict[str, str]:
        """What `$` stands for in this row alone; the number is that of the field it lacks."""
        host = f"{self.name}.{DOMAIN}"
        number = "" if self.without is None else str(self.row.proven.index(self.without))
        own = {"host": host, "namespace": self.name, "number": number}
        if "$port" in str(self.row.given):
            own["port"] = str(_port(self.name))
        return own | {"address": incluster.own_address()}

    def documents(self, names: Mapping[str, str]) -> Iterator[Document]:
        """The objects of the user."""
        names = self.names | dict(names)
        for title, body in self.row.given.items():
            made = _document(title, body)
            if self.without is not None and self.without.kind == made["kind"]:
                edits.replace(made, self.without.path, self.without.instead)
            found = filled(made, names)
            if _KINDS[found["kind"]].namespaced:
                found["metadata"].setdefault("namespace", self.name)
            yield found

    def configurations(self) -> Iterator[Document]:
        """Its ContourConfigurations, nothing filled in."""
        for title, body in self.row.given.items():
            if title.startswith("ContourConfiguration"):
                yield _document(title, body)

    def asks(self, names: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Requests, and what must become of them."""
        names = self.names | dict(names)
        for ask in self.row.asks:
            yield filled(ask, names)


@cache
def _port(_: str) -> int:
    """The port of a variant of this name, the same however often its row is read."""
    return free_port()


def rows(folder: str) -> list[Row]:
    """All rows of the files in a folder."""
    return [
        Row(file=f"{folder}/{path.stem}", **_attributes(row))
        for path in sorted((FOLDER / folder).glob("*.yaml"))
        for row in yaml.load(path.read_text(), yaml.CSafeLoader)
    ]


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    return dict(row) | {"asks": tuple(row["asks"])}


def _document(title: str, body: Any) -> Document:
    """The object that `Kind`, `Kind name` or `Kind namespace/name` stands for."""
    kind, _, path = title.partition(" ")
    namespace, _, name = path.rpartition("/")
    metadata = {"name": name or "main"} | ({"namespace": namespace} if namespace else {})
    rest = copy.deepcopy(body or {})
    for key in ("annotations", "labels"):
        if key in rest:
            metadata[key] = rest.pop(key)
    api_version = _KINDS[kind].api_version
    head = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return head | (rest if kind in {"Secret", "ConfigMap", "EndpointSlice"} else {"spec": rest})


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """A value with everything in it that `$` stands for."""
    if isinstance(value, str):
        whole = re.fullmatch(r"\$(\w+)", value)
        if whole and names.get(whole[1], "").isdecimal():
            return int(names[whole[1]])
        return Template(value).safe_substitute(names)
    if isinstance(value, list | tuple):
        return [filled(it, names) for it in value]
    if isinstance(value, dict):
        return {filled(key, names): filled(it, names) for key, it in value.items()}
    return value
