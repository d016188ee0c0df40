"""Reads a configuration file, whatever its name is.

It holds one document, an EnvoyGateway of either API group. A file that cannot be read is refused
with the line, and an invalid field with its path; so is a field that would change what is served
and is not supported here.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from contour.complaints import ManifestSource
from contour.files import documents, parse, upstream
from contour.files import reading as files
from crds import complaints, screening, shape
from crds.envoygateway.configfile import EnvoyGateway, Irrelevant
from crds.kinds import ENVOY_GATEWAY, OLDER_ENVOY_GATEWAY
from crds.raw import Raw, is_mapping
from crds.unserved import Unserved

VERSION = "v1alpha1"
_KIND = "EnvoyGateway"
_API = f"{ENVOY_GATEWAY}/{VERSION}"
_OLDER = f"{OLDER_ENVOY_GATEWAY}/{VERSION}"


class FaultError(Exception):
    """What is wrong with a configuration file."""

    def __init__(self, message: str, line: int = 0) -> None:
        """The line is counted from 1; 0 if the fault is in no particular line."""
        super().__init__(message)
        self.line = line


class Read(NamedTuple):
    """The content of a file."""

    written: EnvoyGateway
    warnings: tuple[str, ...]
    """Fields that have no effect, with their paths."""


def read(path: Path) -> Read:
    """Reads the file. Raises FaultError and OSError."""
    return _read(files.content(ManifestSource(str(path))).raw)


def _read(raw: bytes) -> Read:
    document, version = _document(raw)
    written = _validated(document)
    if errors := tuple(_unserved(written)):
        raise FaultError("; ".join(errors))
    told = list(_irrelevant(written))
    if version == _OLDER:
        told.append(f"apiVersion: {ENVOY_GATEWAY} is the new name of the group; write {_API}")
    return Read(written, tuple(told))


def _document(raw: bytes) -> tuple[Raw, str]:
    """The fields of the only document, and its version."""
    found = [(text.line, value) for text in documents.texts(raw) if (value := _value(text))]
    if len(found) != 1:
        many = f"holds {len(found)} documents" if found else "is empty"
        raise FaultError(f"the file {many}; write one {_KIND} of {_API}")
    value = found[0][1]
    if not is_mapping(value) or screening.screened(value).is_too_large:
        raise FaultError(f"must be one {_KIND} of {_API}")
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind is None and any(upstream.settings(value, upstream.FILE_SETTINGS)):
        told = "is a configuration file of upstream Contour; convert it to a ContourConfiguration"
        raise FaultError(f"{told}: contour convert --from contour")
    if kind != _KIND or version not in (_API, _OLDER):
        said = complaints.printable(f"{kind} of {version}")
        raise FaultError(f"{said} is no configuration file; write an {_KIND} of {_API}")
    rest = {it: field for it, field in value.items() if it not in ("kind", "apiVersion")}
    without = screening.without_nulls(rest)
    return (without if is_mapping(without) else {}), str(version)


def _value(text: documents.Text) -> object:
    try:
        return parse.value(text.raw)
    except parse.MalformedError as error:
        raise FaultError(error.message, text.line + error.line) from None


def _validated(document: Raw) -> EnvoyGateway:
    try:
        return _adapter().validate_python(document, by_alias=True, by_name=False)
    except ValidationError as error:
        found = complaints.complaints(EnvoyGateway, error.errors(include_url=False))
        raise FaultError("; ".join(map(str, found))) from None


@cache
def _adapter() -> TypeAdapter[EnvoyGateway]:
    return TypeAdapter(EnvoyGateway)


def _unserved(written: EnvoyGateway) -> Iterator[str]:
    for it in shape.marked(written, Unserved):
        if it.value not in (it.default, {}) and it.mark.covers(it.value):
            yield f"{it.path}: is not served; {it.mark.instead}"


def _irrelevant(written: EnvoyGateway) -> Iterator[str]:
    for it in shape.marked(written, Irrelevant):
        if it.value not in (it.default, {}):
            yield f"{it.path}: has no effect; {it.mark.why}"
