"""The pages about policies, Backends and HTTPRouteFilters: the support of each field."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from crds import schema, shape
from crds.envoygateway.backend import BackendSpec
from crds.envoygateway.backendtrafficpolicy import BackendTrafficPolicySpec
from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicySpec
from crds.envoygateway.httproutefilter import HTTPRouteFilterSpec
from crds.envoygateway.securitypolicy import SecurityPolicySpec
from crds.unserved import Unserved

_DOCS = Path(__file__).resolve().parents[1] / "docs"
_SPECS: Mapping[str, type] = {
    "SecurityPolicy": SecurityPolicySpec,
    "BackendTrafficPolicy": BackendTrafficPolicySpec,
    "ClientTrafficPolicy": ClientTrafficPolicySpec,
    "Backend": BackendSpec,
    "HTTPRouteFilter": HTTPRouteFilterSpec,
}
_HEAD = "\n\n| field | served | remarks |\n|---|---|---|\n"


def pages() -> dict[str, str]:
    """The pages, by their names: the tables are generated, the text before them is not."""
    return {f"{kind.lower()}.md": _page(kind, spec) for kind, spec in _SPECS.items()}


def _page(kind: str, model: type) -> str:
    written = (_DOCS / f"{kind.lower()}.md").read_text(encoding="utf-8")
    before, heading, _ = written.partition(f"\n## {kind}\n")
    return before + heading.rstrip("\n") + _HEAD + "".join(_rows(model, ""))


def _rows(model: type, prefix: str) -> Iterator[str]:
    texts = schema.docstrings(model)
    for field in shape.fields(model).values():
        mark = shape.mark(field, Unserved)
        path = prefix + field.wire_name
        text = " ".join(texts.get(field.name, "").split()).replace("|", "\\\\|")
        yield f"| `{path}` | {_fate(mark)} | {text}{_why(mark)} |\n"
        if field.model is not None and mark is None:
            yield from _rows(field.model, f"{path}.")


def _fate(mark: Unserved | None) -> str:
    if mark is None:
        return "yes"
    if mark.instead:
        return "no"
    if mark.values:
        return "in part"
    return "not yet, closed" if mark.guards else "not yet"


def _why(mark: Unserved | None) -> str:
    return f" Not served: {mark.instead}." if mark is not None and mark.instead else ""
