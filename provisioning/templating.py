"""Templates of Kubernetes manifests, into which no value can be written but as a value.

Every `{{ … }}` comes out as JSON, which is YAML: whatever is in a string stays in that string. The
text is parsed again at once, so that callers get objects and never a text that might not be one.
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
    """The objects that a template of this package makes of some values."""
    text = _ENVIRONMENT.get_template(f"{template}.yaml.j2").render({**_FUNCTIONS, **values})
    return [it for it in yaml.load_all(text, yaml.CSafeLoader) if it is not None]


class _Text(str):
    """A piece of a template itself, as a macro returns it."""

    __slots__ = ()


def _block(text: str, indentation: int) -> _Text:
    """What a macro returned, below a key at that indentation."""
    return _Text(text.strip().replace("\n", "\n" + " " * indentation))


def _written(value: object) -> str:
    if isinstance(value, jinja2.Undefined):
        return str(value)  # raises, with the name of what is not there
    if isinstance(value, _Text):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _UNLIKE_JSON.sub(lambda it: f"\\u{ord(it[0]):04x}", text)


_UNLIKE_JSON = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON has in its strings as it is, and YAML breaks lines at or refuses."""


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
