"""What a running instance shows of its objects and Envoys, as JSON has it."""

from typing import Literal, NotRequired, TypedDict

from contour.answers.subjects import Subject


class Problem(TypedDict):
    """One thing that is told of an object."""

    severity: str
    type: str
    reason: str
    field: str
    file: str
    line: int
    message: str


class Row(TypedDict):
    """How an object fares: `reasons` are texts, `problems` the same as fields."""

    subject: Subject
    state: Literal["ok", "warning", "error"]
    summary: str
    reasons: list[str]
    problems: list[Problem]


class Type(TypedDict):
    """What an Envoy has of an xDS type; by name of a resource, and some also by part of it."""

    type: str
    versions: dict[str, str | None]
    unsent: list[str]
    unanswered: list[str]
    waiting: dict[str, dict[str, list[str]]]
    refused: dict[str, dict[str, str]]
    malformed: NotRequired[dict[str, str]]


class Envoy(TypedDict):
    """A connected Envoy."""

    id: str
    types: list[Type]
    replica: NotRequired[str]
    """In a cluster: the pod of the replica on which it hangs."""
    namespace: NotRequired[str]
    """Of a gRPC client without a proxy: whose it is."""
    zone: NotRequired[str]
    """Of such a client: where it is; empty if it does not say."""


class Fleet(TypedDict):
    """A fleet, or what of it hangs on one replica."""

    fleet: str
    envoys: list[Envoy]
    quarantine: list[dict[str, str]]
