"""The pages of the documentation about policies: what becomes of each field, from the models."""

from collections.abc import Iterator
from pathlib import Path

from crds import schema, shape
from crds.envoygateway.securitypolicy import SecurityPolicySpec
from crds.unserved import Unserved

_DOCS = Path(__file__).resolve().parents[1] / "docs"
_HEAD = "\n\n| field | served | remarks |\n|---|---|---|\n"


def security() -> str:
    """The text of docs/securitypolicy.md: the table is generated, what stands before it is not."""
    written = (_DOCS / "securitypolicy.md").read_text(encoding="utf-8")
    before, heading, _ = written.partition("\n## SecurityPolicy\n")
    return before + heading.rstrip("\n") + _HEAD + "".join(_rows(SecurityPolicySpec, ""))


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
    return "not yet, closed" if mark.guards else "not yet"


def _why(mark: Unserved | None) -> str:
    return f" Not served: {mark.instead}." if mark is not None and mark.instead else ""
