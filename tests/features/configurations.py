"""What the rows of a file say of the configuration, in one: they share an instance."""

from collections.abc import Iterable
from typing import Any

from tests.features import edits
from tests.features.rows import Document, Row, filled

KIND = "ContourConfiguration"


def merged(rows: Iterable[Row], *, without_fields: bool = False) -> Document:
    """As the rows say, or without the field that each of them proves."""
    spec: dict[str, Any] = {}
    for row in rows:
        variant = row.variants[0]
        for found in variant.configurations():
            for field in row.proven if without_fields else ():
                edits.replace(found, field.path, field.instead)
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
