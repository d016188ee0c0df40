"""The question and the answer of `contour explain`, as JSON has them: all that a client needs."""

import json
from dataclasses import asdict
from typing import NotRequired, TypedDict

from contour.answers.subjects import Subject
from dag.evaluation.requests import Request


class ShownAnswer(TypedDict):
    """What becomes of the request."""

    status: int | None
    cause: str
    location: NotRequired[str]
    object: NotRequired[Subject]
    responseHeaders: NotRequired[dict[str, str | None]]
    mayBeRefused: NotRequired[bool]
    hidesBackends: NotRequired[bool]
    """No header tells answers of backends from those of Envoy."""
    stream: NotRequired[bool]
    """Backends get the bytes of the connection, unread."""


class ShownProblem(TypedDict):
    """What is told of an object."""

    object: Subject
    severity: str
    field: str
    file: str
    line: int
    message: str
    text: str
    elsewhere: NotRequired[bool]
    """It is about other rules of the object than the one that takes the request."""


class ShownStep(TypedDict):
    """One thing that was looked at."""

    topic: str
    outcome: str
    text: str
    object: NotRequired[Subject]


class ShownBackend(TypedDict):
    """What one of the backends gets."""

    share: float
    host: str
    path: str
    headers: dict[str, str | None]
    responseHeaders: NotRequired[dict[str, str | None]]
    """Of its answer, where they are not those of the route alone."""
    status: NotRequired[int]
    kind: NotRequired[str]
    """Of the object that `service` names, if it is no Service."""
    service: NotRequired[str]
    endpoints: list[str]


class ShownListener(TypedDict):
    """Where Envoy accepts the connection."""

    address: str
    port: int


class Explained(TypedDict):
    """The evaluation of a request, as JSON has it."""

    method: str
    url: str
    answer: ShownAnswer
    problems: list[ShownProblem]
    steps: list[ShownStep]
    backends: list[ShownBackend]
    listener: NotRequired[ShownListener]
    """Absent if nothing listens."""
    fleets: NotRequired[list[str]]
    """The names of all fleets, if there is none of the name that was asked for."""


def written(fleet: str, request: Request) -> str:
    """A question, to be sent to an instance."""
    return json.dumps({"fleet": fleet, **asdict(request)})


def read(question: str) -> tuple[str, Request]:
    """The question again. Raises ValueError if it is none."""
    try:
        found = json.loads(question)
        headers = tuple((str(name), str(value)) for name, value in found.pop("headers"))
        return str(found.pop("fleet")), Request(headers=headers, **found)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"this is no question about a request: {error}") from None
