"""How Envoys ask for `xdstp:` names: each name has one spelling.

Measured with Envoy 1.40: it asks for the spelling below, whatever is written, and then refuses a
resource whose name is not literally the written one. So another spelling leads nowhere, and an
Envoy that starts with a reference to it does not begin to serve.
"""

from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from contour.xds.xdstp import SCHEME
from crds.raw import is_list, is_mapping
from dag.rawconfig.content import Remark


def remarks(value: object, path: str = "") -> Iterator[Remark]:
    """The `xdstp:` names in a value for which Envoys ask in another spelling."""
    if is_mapping(value):
        for key, it in value.items():
            yield from remarks(it, f"{path}.{key}")
    elif is_list(value):
        for index, it in enumerate(value):
            yield from remarks(it, f"{path}[{index}]")
    elif isinstance(value, str) and value.startswith(SCHEME) and (asked := spelled(value)) != value:
        yield Remark(path, f"Envoy asks for {asked!r} instead; write the name so")


def spelled(name: str) -> str:
    """The spelling of an `xdstp:` name: context parameters are sorted, and only what has to be
    percent-encoded is."""
    path, _, context = name.removeprefix(SCHEME).partition("?")
    pairs = (it.partition("=") for it in context.split("&") if it)
    sorted_ = sorted(f"{_encoded(key, '%#[]&=')}={_encoded(it, '%#[]&=')}" for key, _, it in pairs)
    return SCHEME + _encoded(path, "%?#[]") + ("?" if sorted_ else "") + "&".join(sorted_)


def _encoded(written: str, reserved: str) -> str:
    return "".join(
        chr(it) if ord(" ") <= it < ord("~") and chr(it) not in reserved else f"%{it:02X}"
        for it in unquote_to_bytes(written)
    )
