"""From the documents of the tests to objects, or to what is wrong with them."""

from typing import Any

from crds.complaints import dotted
from crds.decode import Decoded, decode
from tests.crds.documents import Document


def decoded(document: Document) -> Any:
    """The object, which has nothing wrong with it."""
    found = decode(document)
    assert isinstance(found, Decoded)
    assert found.complaints == ()
    return found.object


def errors(document: Document) -> list[tuple[str, str]]:
    """Paths and messages of the errors."""
    found = decode(document)
    assert isinstance(found, Decoded)
    return [(dotted(it.path), it.message) for it in found.errors]
