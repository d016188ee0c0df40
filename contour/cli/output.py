"""How commands print: YAML or JSON for machines, tables for people on a terminal."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from observability import printable

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text

Format = Literal["json", "yaml"]

Cell = tuple[str, str]
"""A text and its style: `green`, `red`, or empty for none."""


def say(*lines: str, err: bool = False) -> None:
    """Prints lines for people, which may quote what others wrote; `err`: to standard error."""
    click.echo("\n".join(map(printable.lines, lines)), err=err)


def document(value: object, format_: Format) -> None:
    """Prints one document."""
    if format_ == "json":
        click.echo(_json(value))
    else:
        click.echo(_yaml(value), nl=False)


def stream(values: Sequence[object], format_: Format) -> None:
    """Prints a list of objects: a YAML stream, or `{"items": […]}`."""
    if format_ == "json":
        document({"items": values}, "json")
    elif values:
        click.echo("---\n".join(_yaml(it) for it in values), nl=False)


def table(headers: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Prints a table: folded to the terminal's width, or without breaks for the next program.

    Where the terminal is narrow, each row is a block of lines; nothing is ever cut.
    """
    from rich.text import Text

    texts = [[Text(printable.lines(text), style) for text, style in row] for row in rows]
    width = _width()
    if width is None:
        _print(_table(headers, texts), _WITHOUT_BREAKS)
    elif width < _NARROW:
        for row in texts:
            _print(_block(row), width)
    else:
        _print(_table(headers, texts), width)


_WITHOUT_BREAKS = 100_000
_NARROW = 100
"""Columns of characters below which a table would fold its words."""


def _width() -> int | None:
    """The columns of the terminal; None if the output is not a terminal, or has a size of 0, as
    terminals without a window do."""
    if "COLUMNS" in os.environ or sys.stdout.isatty():
        from rich.console import Console

        return Console().width or None
    return None


def _print(content: "RenderableType", width: int) -> None:
    """Prints without trailing blanks."""
    from rich.console import Console

    console = Console(width=width, height=1)
    with console.capture() as capture:
        console.print(content)
    for line in capture.get().splitlines():
        click.echo(line.rstrip())


def _table(headers: Sequence[str], rows: "Iterable[Sequence[Text]]") -> "Table":
    from rich.table import Table

    found = Table(box=None, pad_edge=False)
    for header in headers:
        found.add_column(header, overflow="fold")
    for row in rows:
        found.add_row(*row)
    return found


def _block(row: "Sequence[Text]") -> "Group":
    """The short cells in one line, and the last cell below it, indented."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    *short, rest = row
    lines: list[RenderableType] = [Text(" ", overflow="fold").join(it for it in short if it)]
    return Group(*lines, *([Padding(rest, (0, 0, 0, 2))] if rest else []))


def _json(value: object) -> str:
    """JSON for programs that a terminal may show, too."""
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    return "\n".join(map(_escaped, lines))


def _escaped(line: str) -> str:
    return printable.UNPRINTABLE.sub(lambda it: f"\\u{ord(it.group()):04x}", line)


def _yaml(value: object) -> str:
    import yaml

    class Dumper(yaml.CSafeDumper):
        """Knows every type of mapping, such as the ordered ones of protobuf's JSON mapping, and of
        text, such as the words of statuses. A value that occurs twice is written twice, without an
        alias, since people edit the output."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_multi_representer(dict, Dumper.represent_dict)
    Dumper.add_multi_representer(str, lambda dumper, it: dumper.represent_str(str(it)))
    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text
