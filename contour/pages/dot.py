"""The graph in Graphviz's DOT language: listeners, their hosts, and the objects of each host.

For `/debug/dag`, as in upstream. It is read from existing answers, so a drawing costs a listing and
no rebuild. `contour translate --to dag` shows the details of hosts.
"""

from collections.abc import Iterator

from crds.meta import ObjectRef
from dag import hosts, listeners
from dag.engine.incremental import Engine

_SHAPES = {"listener": "house", "host": "box", "object": "ellipse"}


def drawing(engine: Engine) -> str:
    """A digraph in the DOT language."""
    return "\n".join(["digraph contour {", "  rankdir=LR", *_lines(engine), "}", ""])


def _lines(engine: Engine) -> Iterator[str]:
    origins: set[ObjectRef] = set()
    for key, _ in sorted(engine.answers(listeners.listener), key=lambda it: it[0]):
        yield _node("listener", f"{key.fleet}/{key.name}")
    for host, found in sorted(engine.answers(hosts.virtual_host), key=lambda it: it[0]):
        name = f"{host.fleet}/{host.listener}/{host.host}"
        yield _node("host", name, f"{host.host}\n{len(found.routes) if found else 0} routes")
        yield _edge(f"{host.fleet}/{host.listener}", name)
        for origin in found.origins if found else ():
            origins.add(origin)
            yield _edge(name, str(origin))
    for origin in sorted(origins):
        yield _node("object", str(origin))


def _node(kind: str, name: str, label: str = "") -> str:
    return f"  {_quoted(name)} [shape={_SHAPES[kind]} label={_quoted(label or name)}]"


def _edge(one: str, other: str) -> str:
    return f"  {_quoted(one)} -> {_quoted(other)}"


def _quoted(text: str) -> str:
    """A string in DOT, where backslashes have to be escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
