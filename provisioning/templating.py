"""Templates of Kubernetes manifests, in which a value can never become markup.

Every `{{ … }}` is rendered as JSON, which is YAML: the content of a string cannot leave that
string. The text is parsed at once, so callers get objects and never a text that may not be valid.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import jinja2
import yaml

from crds.raw import Raw

Document = dict[str, Any]


def documents(template: str, values: Mapping[str, object]) -> list[Document]:
    """The objects of a template of this package, rendered with these values."""
    text = _ENVIRONMENT.get_template(f"{template}.yaml.j2").render({**_FUNCTIONS, **values})
    return [it for it in yaml.load_all(text, yaml.CSafeLoader) if it is not None]


class _Text(str):
    """A piece of a template itself, as a macro returns it."""

    __slots__ = ()


def _block(text: str, indentation: int) -> _Text:
    """The result of a macro, below a key at that indentation."""
    return _Text(text.strip().replace("\n", "\n" + " " * indentation))


def _written(value: object) -> str:
    if isinstance(value, jinja2.Undefined):
        return str(value)  # raises for an undefined name
    if isinstance(value, _Text):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _UNLIKE_JSON.sub(lambda it: f"\\u{ord(it[0]):04x}", text)


_UNLIKE_JSON = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON does not escape, but YAML treats as line breaks or refuses."""


def _combined(*given: Mapping[str, object]) -> Raw:
    return {key: value for it in given for key, value in it.items()}


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("provisioning"),
    autoescape=False,  # for HTML; what YAML needs is done by what finalizes every value
    finalize=_written,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_FUNCTIONS = {"block": _block, "combined": _combined}
"""Of all templates."""


def text(given: Iterable[Document]) -> str:
    """Objects as YAML, for people."""
    return "".join(
        "---\n" + yaml.dump(it, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
        for it in given
    )


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their key, and nothing is written as a reference."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True
