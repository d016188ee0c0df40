"""What the documents say is served is served, and what is not served yet is in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from crds import shape
from crds.kinds import KINDS
from crds.unserved import Unserved

_DOCS = Path(__file__).parents[2] / "docs"
_DOCUMENTED = {
    "HTTPProxy": "httpproxy.md",
    "TLSCertificateDelegation": "httpproxy.md",
    "ExtensionService": "httpproxy.md",
    "GatewayClass": "gateway-api.md",
    "Gateway": "gateway-api.md",
    "ListenerSet": "gateway-api.md",
    "HTTPRoute": "gateway-api.md",
    "GRPCRoute": "gateway-api.md",
    "TLSRoute": "gateway-api.md",
    "TCPRoute": "gateway-api.md",
    "UDPRoute": "gateway-api.md",
    "BackendTLSPolicy": "gateway-api.md",
    "XTelemetryPolicy": "gateway-api.md",
    "XBackend": "gateway-api.md",
    "XBackendTrafficPolicy": "gateway-api.md",
    "ReferenceGrant": "gateway-api.md",
    "Ingress": "ingress.md",
    "ContourConfiguration": "configuration.md",
    "EnvoyConfig": "envoyconfig.md",
    "EnvoyProxy": "envoyproxy.md",
    "AuthenticationFilter": "gateway-api.md",
    "SecurityPolicy": "securitypolicy.md",
    "BackendTrafficPolicy": "backendtrafficpolicy.md",
    "ClientTrafficPolicy": "clienttrafficpolicy.md",
    "Backend": "backend.md",
    "HTTPRouteFilter": "httproutefilter.md",
}


class Row(NamedTuple):
    """A field, as a document tells of it."""

    served: str
    remarks: str


@pytest.mark.parametrize("kind", _DOCUMENTED)
def test_a_field_is_called_what_its_mark_says(kind: str) -> None:
    fields, told = dict(_fields(kind)), _told(kind)
    assert told, f"{_DOCUMENTED[kind]} has no table of {kind}"
    assert set(told) <= set(fields), "there is no such field"
    for path, row in told.items():
        mark = next((fields[it] for it in _above(path) if fields[it]), None)
        assert row.served == _expected(mark, row.served), path
        for value in mark.values if mark else ():
            assert f"`{value}`" in row.remarks, path


@pytest.mark.parametrize("kind", _DOCUMENTED)
def test_no_field_is_left_out(kind: str) -> None:
    told, fields = _told(kind), dict(_fields(kind))
    for path, mark in fields.items():
        is_told = any(it in told for it in _above(path))
        is_opened = any(it.startswith(f"{path}.") for it in told)
        assert is_told or (is_opened and mark is None), f"{_DOCUMENTED[kind]} lacks {path}"


def _expected(mark: Unserved | None, served: str) -> str:
    if mark is None:
        return served if served in {"yes", "no"} else "yes"
    if mark.instead:
        return "no"
    if mark.values:
        return "in part"
    return "not yet, closed" if mark.guards else "not yet"


def _told(kind: str) -> dict[str, Row]:
    text = (_DOCS / _DOCUMENTED[kind]).read_text()
    section = re.split(rf"^## {kind}$", text, flags=re.MULTILINE)[1].partition("\n## ")[0]
    found: dict[str, Row] = {}
    for line in section.splitlines():
        cells = [it.strip() for it in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) >= 3:
            for name in re.findall(r"`([^`]+)`", cells[0]):
                found[name.replace("[]", "")] = Row(cells[1], cells[2])
    return found


def _above(path: str) -> Iterator[str]:
    """The field, and those that it is in."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _fields(kind: str) -> Iterator[tuple[str, Unserved | None]]:
    (model,) = (it.model for it in KINDS.values() if it.kind == kind)
    spec = shape.fields(model)["spec"].model
    assert spec is not None
    return _below(spec, "")


def _below(model: type, prefix: str) -> Iterator[tuple[str, Unserved | None]]:
    for field in shape.fields(model).values():
        mark = shape.mark(field, Unserved)
        yield prefix + field.wire_name, mark
        if field.model is not None and mark is None:
            yield from _below(field.model, f"{prefix}{field.wire_name}.")
