"""The patches of one place, applied policy by policy.

A policy is applied to a place completely or not at all: if one operation cannot be applied, or the
result is not a valid resource, the policy is left out there.
"""

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import jsonpatch
from google.protobuf.message import Message

from contour import jsonpatching
from contour.envoy.patches import documents
from crds.meta import NamespacedName
from crds.raw import Raw, is_mapping
from dag.patches.policies import Operation, Patch
from dag.patches.status import Failure

if TYPE_CHECKING:
    from contour.envoy.patches.jsonpaths import Finder

MOST_BYTES = 1 << 20
"""The size limit of a document; a listener's template has some 10 KB."""
MOST_WRITTEN = 2 << 20
"""The number of characters of JSON that a policy may write into one resource."""
MOST_PLACES = 256
"""The number of places that one JSONPath may find."""


class Kind(NamedTuple):
    """A kind of resource that can be patched."""

    message: Callable[[], Message]
    """An empty one."""
    refusal: Callable[[Message, Message], str]
    """Why a result cannot be served, given what it was before; empty if it can."""
    pointer: Callable[[str], str]
    """The place that a JSON pointer means."""


class Layer(NamedTuple):
    """A resource after a policy."""

    policy: NamespacedName
    body: bytes


class Patched(NamedTuple):
    """A resource after all policies."""

    layers: tuple[Layer, ...] = ()
    """The resource after each policy that was applied; the last one is what is served."""
    failures: tuple[Failure, ...] = ()
    plain: bytes = b""
    """The resource before the first of them."""


class _FailedError(Exception):
    """An operation cannot be applied."""

    def __init__(self, number: int, field: str, why: str) -> None:
        super().__init__(why)
        self.failure = (number, field, why)


def applied(kind: Kind, body: bytes, patches: Iterable[Patch]) -> Patched:
    """A resource after all its patches."""
    plain, layers = body, list[Layer]()
    failures: list[Failure] = []
    for it in patches:
        try:
            after = _after(kind, body, it)
        except _FailedError as error:
            failures.append(Failure(it.policy, *error.failure))
            continue
        if after != body:
            layers.append(Layer(it.policy, after))
        body = after
    return Patched(tuple(layers), tuple(failures), plain)


def _after(kind: Kind, body: bytes, patch: Patch) -> bytes:
    """The resource after the operations of one policy. Raises _FailedError, whatever happens."""
    number = patch.operations[0].number
    try:
        before, document = _before(kind, body, number)
        limits = _Limits()
        for it in patch.operations:
            number = it.number
            document = _operated(kind, document, it, limits)
        return _read(kind, before, document, number)
    except _FailedError:
        raise
    except RecursionError as error:
        raise _FailedError(number, "operation", "is nested too deeply") from error
    except Exception as error:  # of many types; one policy must not stop the others
        why = f"cannot be applied: {type(error).__name__}: {error}"
        raise _FailedError(number, "operation", why[:_LONGEST]) from error


_LONGEST = 300


class _Limits:
    """What the operations of one policy may still do to one resource."""

    def __init__(self) -> None:
        self.room = jsonpatching.Room(MOST_WRITTEN)

    @cached_property
    def finder(self) -> "Finder":
        """What finds the places of JSONPaths."""
        # Importing them takes 24 ms, and few policies have a JSONPath.
        from contour.envoy.patches import jsonpaths  # noqa: PLC0415

        return jsonpaths.Finder()


def _before(kind: Kind, body: bytes, number: int) -> tuple[Message, object]:
    """The resource as it is, and its document."""
    before = kind.message()
    before.ParseFromString(body)
    try:
        return before, documents.written(before) if body else {}
    except documents.UnreadableError as error:
        raise _FailedError(number, "name", str(error)) from error


def _operated(kind: Kind, document: object, it: Operation, limits: _Limits) -> object:
    """The document after one operation, which may apply to several places."""
    for step in _steps(kind, document, it, limits):
        try:
            jsonpatching.check(step)
            document = jsonpatching.applied(document, step, limits.room)
        except jsonpatching.NotAppliedError as error:
            why = f"{step['op']} {step['path']}: {error}"
            raise _FailedError(it.number, "operation", why) from error
    return document


def _steps(kind: Kind, document: object, it: Operation, limits: _Limits) -> Iterator[Raw]:
    """The operations of RFC 6902 that an operation means."""
    found = it.patch.operation
    for path in _paths(kind, document, it, limits):
        step: Raw = {"op": found.op, "path": path}
        if found.from_ is not None:
            step["from"] = kind.pointer(found.from_)
        if found.value is not None:
            step["value"] = json.loads(found.value)
        yield step


def _paths(kind: Kind, document: object, it: Operation, limits: _Limits) -> Iterator[str]:
    found = it.patch.operation
    if found.json_path is None:
        if found.path is None:
            raise _FailedError(it.number, "operation", "needs a path or a jsonPath")
        yield kind.pointer(found.path)
        return
    places = _found(document, it.number, found.json_path, limits)
    # The last first, because removing an entry moves those behind it.
    for place in reversed(places):
        yield place + (found.path or "")


def _found(document: object, number: int, expression: str, limits: _Limits) -> list[str]:
    """The places that a JSONPath finds, in the order of the document."""
    from jsonpath import JSONPathError  # noqa: PLC0415 (as for the finder)

    if not is_mapping(document):
        return []
    try:
        found = islice(limits.finder.found(expression, document), MOST_PLACES + 1)
        places = [_pointer(it) for it in found]
    except JSONPathError as error:
        raise _FailedError(number, "operation.jsonPath", str(error.message)) from error
    if not places:
        raise _FailedError(number, "operation.jsonPath", f"{expression} finds nothing")
    if len(places) > MOST_PLACES:
        why = f"{expression} finds more than {MOST_PLACES} places"
        raise _FailedError(number, "operation.jsonPath", why)
    return places


def _pointer(parts: Iterable[int | str]) -> str:
    return jsonpatch.JsonPointer.from_parts([str(it) for it in parts]).path


def _read(kind: Kind, before: Message, document: object, number: int) -> bytes:
    if not is_mapping(document):
        raise _FailedError(number, "operation", "leaves no object")
    after = kind.message()
    try:
        body = documents.read(after, copy.deepcopy(document))
    except documents.UnreadableError as error:
        raise _FailedError(number, "operation", f"leaves no valid resource: {error}") from error
    if len(body) > MOST_BYTES:
        raise _FailedError(number, "operation", f"leaves more than {MOST_BYTES:,} bytes")
    if why := kind.refusal(before, after):
        raise _FailedError(number, "operation", why)
    return body
