"""The addresses of the dashboard's pages."""

from urllib.parse import urlencode

from crds.meta import ObjectRef
from dag import nodes

ROOT = "/dashboard"


def page(path: str, **parameters: object) -> str:
    """The address of a page below the root; empty parameters are left out."""
    given = {name: value for name, value in parameters.items() if value not in ("", 0, None)}
    return f"{ROOT}{path}" + (f"?{urlencode(given)}" if given else "")


def host(key: nodes.HostKey) -> str:
    """The page of a host."""
    return page("/host", **key._asdict())


def subject(of: ObjectRef) -> str:
    """The page of an object."""
    return page("/object", **of._asdict())
