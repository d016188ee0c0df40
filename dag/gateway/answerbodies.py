"""Bodies of answers, given in objects of Envoy Gateway or in ConfigMaps that they name.

Source: Envoy Gateway 1.9.
"""

from collections.abc import Callable

from crds.envoygateway.responseoverride import OverrideBody
from crds.gateway.references import LocalObjectReference
from crds.meta import NamespacedName
from dag import nodes, tables
from dag.engine.view import View
from dag.problems import Refused
from dag.problems.places import Place
from dag.values import formats

MOST = 4096
"""The most bytes that a body may have; Envoy refuses a longer one."""
ENTRY = "response.body"
"""The key of the body in a ConfigMap. If it is missing, the alphabetically first key counts."""

Refusing = Callable[[Place, str], Refused]
"""Makes the error to raise, from the field that cannot be served and the reason."""


def body(view: View, found: OverrideBody | None, at: Place, refused: Refusing) -> nodes.Value:
    """The body that an object gives. Raises what `refused` makes if it cannot be served."""
    if found is None:
        return ""
    text = found.inline or ""
    if found.type == "ValueRef":
        at = at.at("valueRef")
        text = _stored(view, found.value_ref, at, refused)
    if len(text.encode()) > MOST:
        raise refused(at, f"has more than {MOST} bytes")
    return formats.value(text, {})


def _stored(view: View, ref: LocalObjectReference | None, at: Place, refused: Refusing) -> str:
    """The body in a ConfigMap of the namespace of the object."""
    if ref is None:
        raise refused(at, "it is not set")
    if (ref.group, ref.kind) != ("", "ConfigMap"):
        raise refused(at.at("kind"), f"{ref.kind} is no ConfigMap")
    found = view.read(tables.CONFIG_MAPS, NamespacedName(at.subject.namespace, ref.name))
    if found is None:
        raise refused(at, f"ConfigMap {ref.name} not found")
    if not found.data:
        raise refused(at, f"ConfigMap {ref.name} has no {ENTRY}, nor anything else")
    return found.data[ENTRY if ENTRY in found.data else min(found.data)]
