"""The graph of one host as a drawing: host, objects, routes, Services and endpoints in columns.

Plain data with coordinates, in pixels; the template writes it as SVG. Each box is a link.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Column = Literal["host", "object", "route", "service", "endpoint"]
COLUMNS: tuple[Column, ...] = ("host", "object", "route", "service", "endpoint")

WIDTH, HEIGHT = 230, 30
"""Of a box."""
_BESIDE, _BELOW, _MARGIN, _HEADING = 50, 10, 8, 24
_LONGEST = 30
"""Characters that fit into a box; the title has the whole text."""


class Box(NamedTuple):
    """One box: its identity in its column, its text, where it leads to, and how it fares."""

    id: str
    text: str
    link: str = ""
    state: str = "ok"


class PlacedBox(NamedTuple):
    """A box with the coordinates of its upper left corner."""

    box: Box
    x: int
    y: int

    @property
    def label(self) -> str:
        """The text as far as it fits."""
        text = self.box.text
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class Line(NamedTuple):
    """A connection between the right side of a box and the left side of another."""

    x1: int
    y1: int
    x2: int
    y2: int

    @property
    def path(self) -> str:
        """As the `d` of an SVG path."""
        middle = (self.x1 + self.x2) // 2
        return f"M{self.x1},{self.y1} C{middle},{self.y1} {middle},{self.y2} {self.x2},{self.y2}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn, and its size."""

    boxes: Sequence[PlacedBox]
    lines: Sequence[Line]
    headings: Sequence[tuple[str, int]]
    """Text and x of each column's heading."""
    width: int
    height: int


@dataclass(slots=True)
class Sketch:
    """Boxes and connections as they are found; each box is drawn once."""

    _boxes: dict[Column, dict[str, Box]] = field(default_factory=lambda: {it: {} for it in COLUMNS})
    _links: dict[tuple[Column, str, Column, str], None] = field(
        default_factory=dict[tuple[Column, str, Column, str], None]
    )

    def add(self, column: Column, box: Box) -> Box:
        """Draws a box, unless one of its identity is there. Returns the box."""
        return self._boxes[column].setdefault(box.id, box)

    def connect(self, column: Column, one: Box, other_column: Column, other: Box) -> None:
        """Draws a line from one box to another of a column further right."""
        self._links[column, one.id, other_column, other.id] = None

    def placed(self, headings: dict[Column, str]) -> Drawing:
        """The drawing; columns without boxes are left out."""
        used: list[Column] = [it for it in COLUMNS if self._boxes[it]]
        left = {column: _MARGIN + number * (WIDTH + _BESIDE) for number, column in enumerate(used)}
        at: dict[tuple[Column, str], PlacedBox] = {
            (column, box.id): PlacedBox(box, left[column], _top(number))
            for column in used
            for number, box in enumerate(self._boxes[column].values())
        }
        most = max((len(self._boxes[it]) for it in used), default=0)
        return Drawing(
            tuple(at.values()),
            tuple(_lines(at, self._links)),
            tuple((headings[it], left[it]) for it in used),
            2 * _MARGIN + len(used) * (WIDTH + _BESIDE) - _BESIDE,
            _top(most) + _MARGIN - _BELOW,
        )


def _top(number: int) -> int:
    return _MARGIN + _HEADING + number * (HEIGHT + _BELOW)


def _lines(
    at: dict[tuple[Column, str], PlacedBox], links: Iterable[tuple[Column, str, Column, str]]
) -> Iterator[Line]:
    for column, one, other_column, other in links:
        start, end = at[column, one], at[other_column, other]
        middle = HEIGHT // 2
        yield Line(start.x + WIDTH, start.y + middle, end.x, end.y + middle)
