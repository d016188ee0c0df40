"""The rows of answers about all clusters and Secrets of a fleet, one for each of them.

A user of a cluster or Secret depends on its row alone. The controller writes these rows when the
answer `contour.envoy.hooks.questions.translated` has changed.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from crds.meta import ObjectRef
from dag.configuration import settings
from dag.engine.view import Table, View, query


class Item(NamedTuple):
    """A cluster or Secret of a fleet, by its name."""

    fleet: str
    name: str


class Passed(NamedTuple):
    """A cluster about which extensions have answered."""

    body: bytes | None
    """None: it is served as it is."""


@dataclass(frozen=True, slots=True)
class PassedSecret:
    """A Secret about which extensions have answered."""

    body: bytes | None = field(repr=False)
    """As it is served, with its private parts; None: it is not served."""


class KeptSecret(NamedTuple):
    """A Secret about which extensions have answered, without private parts, for the next
    process."""

    asked: bytes
    """A digest of the Secret that extensions were asked about."""
    body: bytes | None


class Asked(NamedTuple):
    """A question about a host or listener of a fleet."""

    fleet: str
    question: bytes
    """Its key."""


class Remembered(NamedTuple):
    """An extension that has answered questions about hosts and listeners of a fleet."""

    fleet: str
    server: str


CLUSTERS: Table[Item, Passed] = Table("clusters that extensions have answered for")
ADDED_CLUSTERS: Table[Item, bytes] = Table("clusters that extensions have added")
SECRETS: Table[Item, PassedSecret] = Table("Secrets that extensions have answered for")
ADDED_SECRETS: Table[Item, PassedSecret] = Table("Secrets that extensions have added")
REMEMBERED: Table[Remembered, int] = Table("questions that extensions remember")
"""The sum of the questions' keys, which does not depend on their order. Servers remember what they
were asked about hosts and listeners, so the sum is part of the question about all clusters."""
KEPT_SECRETS: Table[Item, KeptSecret] = Table("Secrets as they are kept")
KEPT_ADDED_SECRETS: Table[Item, bytes] = Table("added Secrets as they are kept")
"""Secrets are stored for the next process without the private parts that their rows have."""
COVERED: Table[Asked, bool] = Table("questions that answers about all clusters cover")
"""Questions that had been answered when extensions were asked about all clusters."""


@query
def is_translated(view: View, _: tuple[()]) -> bool:
    """Whether extensions are asked about all clusters and Secrets."""
    return any("Translation" in it.hooks for it in view.ask(settings.hook_servers, ()))


def authors(view: View) -> tuple[ObjectRef, ...]:
    """The object with the settings of the whole instance, which registers the extensions."""
    chosen = view.ask(settings.chosen_name, ())
    return () if chosen is None else (ObjectRef("ContourConfiguration", *chosen),)
