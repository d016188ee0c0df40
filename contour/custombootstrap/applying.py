"""Turns a user's bootstrap into the text that Envoy starts with, or into a list of all errors."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from envoy.config.bootstrap.v3 import bootstrap_pb2
from google.protobuf import json_format

from contour import bootstrap
from contour.bootstrap import Settings, SocketAddress
from contour.custombootstrap import (
    constraints,
    merging,
    patching,
    protecting,
    reading,
    sockets,
    statistics,
)
from contour.envoy import parsing
from contour.envoy.parsing import Found
from crds.custombootstrap import CustomBootstrap
from crds.raw import Raw
from dag.rawconfig.content import Remark

_NO_PORTS: Mapping[int, str] = MappingProxyType({})
_MOST_TOLD = 20


class RefusedBootstrapError(Exception):
    """A bootstrap that cannot be used; each remark has the path of a field of it."""

    def __init__(self, remarks: Iterable[Remark]) -> None:
        self.remarks = tuple(remarks)[:_MOST_TOLD]
        super().__init__("; ".join(sentence(it) for it in self.remarks))


class Applied(NamedTuple):
    """What an Envoy starts with."""

    text: str
    admin: SocketAddress | None
    """Where its administration interface listens, if that is not the usual socket."""
    warnings: tuple[Remark, ...]


def sentence(remark: Remark) -> str:
    """A remark in a sentence."""
    return " ".join(filter(None, (remark.path.lstrip("."), remark.text)))


def applied(
    custom: CustomBootstrap, settings: Settings, taken: Mapping[int, str] = _NO_PORTS
) -> Applied:
    """The bootstrap of these settings with the user's changes. `taken` are the TCP ports that are
    in use, each with the listener that has it. Raises RefusedBootstrapError."""
    rendered = bootstrap.message(settings)
    result, found = changed(custom, rendered)
    found.errors += protecting.differences(rendered, result)
    found.errors += statistics.lost(result)
    found.errors += constraints.violations(result)
    found.errors += _duplicates(result)
    found.errors += sockets.conflicts(result, taken)
    _require(found)
    return Applied(text(result), _admin(result), tuple(found.warnings))


def changed(
    custom: CustomBootstrap, rendered: bootstrap_pb2.Bootstrap
) -> tuple[bootstrap_pb2.Bootstrap, Found]:
    """The bootstrap that the user wants, before it is checked. Raises RefusedBootstrapError if the
    result is no bootstrap at all."""
    result, found = bootstrap_pb2.Bootstrap(), Found()
    value = _value(custom, rendered, found)
    if not found.errors:
        read = parsing.read_into(result, value, "")
        found.errors += read.errors
        found.warnings += read.warnings
    _require(found)
    protecting.completed(rendered, result)
    return result, found


def text(message: bootstrap_pb2.Bootstrap) -> str:
    """As the text of a JSON file."""
    return json.dumps(_document(message), indent=2) + "\n"


def _require(found: Found) -> None:
    if found.errors:
        raise RefusedBootstrapError(found.errors)


def _value(custom: CustomBootstrap, rendered: bootstrap_pb2.Bootstrap, found: Found) -> Raw:
    """The document that the user wants, in the JSON of protobuf."""
    if custom.type == "JSONPatch":
        return patching.patched(_document(rendered), custom.json_patches, "jsonPatches", found)
    value = reading.document(custom.value or "", "value", found)
    if found.errors or custom.type == "Replace":
        return value
    # The user's part is validated before it is merged, so that errors name the place where it was
    # written.
    found.errors += parsing.read_into(bootstrap_pb2.Bootstrap(), value, "value").errors
    if found.errors:
        return value
    return merging.merged(bootstrap_pb2.Bootstrap.DESCRIPTOR, _document(rendered), value)


def _document(message: bootstrap_pb2.Bootstrap) -> Raw:
    found: Raw = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return found


def _duplicates(found: bootstrap_pb2.Bootstrap) -> Iterator[Remark]:
    """Envoy refuses two clusters of one name."""
    names = Counter(it.name for it in found.static_resources.clusters)
    for name, count in names.items():
        if count > 1:
            yield Remark("static_resources.clusters", f"has {count} clusters called {name!r}")


def _admin(found: bootstrap_pb2.Bootstrap) -> SocketAddress | None:
    address = found.admin.address
    if not address.HasField("socket_address"):
        return None
    return SocketAddress(address.socket_address.address, address.socket_address.port_value)
