"""What the rows of a file say of the configuration, in one: they share an instance.

The n-th lesser one is the same without the n-th of the fields that each row proves.
"""

from collections.abc import Iterable
from typing import Any

from tests.features import edits
from tests.features.rows import Document, Row, filled

KIND = "ContourConfiguration"


def merged(rows: Iterable[Row], without: int | None = None) -> Document:
    """As the rows say, or without one field of each."""
    spec: dict[str, Any] = {}
    for row in rows:
        variant = row.variants[0]
        for found in variant.configurations():
            if without is not None and without < len(row.proven):
                edits.replace(found, row.proven[without].path, row.proven[without].instead)
            _merge(spec, filled(found["spec"], variant.names))
    head = {"apiVersion": "projectcontour.io/v1alpha1", "kind": KIND}
    return head | {"metadata": {"name": "contour", "namespace": "default"}, "spec": spec}


def _merge(target: dict[str, Any], found: dict[str, Any]) -> None:
    for key, value in found.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        elif isinstance(value, list) and isinstance(target.get(key), list):
            target[key] = [*target[key], *value]
        else:
            target[key] = value
