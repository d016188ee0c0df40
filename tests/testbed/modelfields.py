"""The fields of a model by their paths, those that a document sets, and the document without one.

For tables of tests that have to look at every field. A path has the names of fields joined by dots;
entries of lists have none of their own: `rules.name`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from crds import shape


def leaves(model: type, is_left_out: Callable[[shape.FieldShape], bool]) -> Iterator[str]:
    """The fields that hold no model themselves, without those that are left out."""
    for name, field in shape.fields(model).items():
        if is_left_out(field):
            continue
        if field.model is None:
            yield name
        else:
            yield from (f"{name}.{it}" for it in leaves(field.model, is_left_out))


def paths(document: Any) -> Iterator[str]:
    """The paths of all fields that a document sets."""
    if isinstance(document, list):
        for it in document:
            yield from paths(it)
    elif isinstance(document, dict):
        for name, value in document.items():
            yield name
            yield from (f"{name}.{it}" for it in paths(value))


def without(document: Any) -> Iterator[tuple[str, Any]]:
    """The document without one of its values, for each of these, with its path. List entries have
    their index in it. Fields that hold other values are not removed as a whole."""
    if isinstance(document, dict):
        for name, value in document.items():
            rest = {key: it for key, it in document.items() if key != name}
            if not isinstance(value, dict | list) or not value:
                yield name, rest
            for path, changed in without(value):
                yield f"{name}.{path}", {**document, name: changed}
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield str(index), [*document[:index], *document[index + 1 :]]
            for path, changed in without(value):
                yield f"{index}.{path}", [*document[:index], changed, *document[index + 1 :]]
