"""How commands print: YAML or JSON for machines, tables for people on a terminal."""

import json
import os
import sys
from typing import Any, Literal

import click
import yaml
from rich.console import Console
from rich.table import Table

Format = Literal["json", "yaml"]


def document(value: Any, format_: Format) -> None:
    """Prints one document."""
    if format_ == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        click.echo(_yaml(value), nl=False)


def stream(values: list[Any], format_: Format) -> None:
    """Prints a list of objects: a YAML stream, or `{"items": […]}`."""
    if format_ == "json":
        document({"items": values}, "json")
    elif values:
        click.echo("---\n".join(_yaml(it) for it in values), nl=False)


def table(content: Table) -> None:
    """Prints a table: as wide as the terminal, or without breaks for the next program in a pipe."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        Console().print(content)
    else:
        Console(width=_WITHOUT_BREAKS, height=1).print(content)


_WITHOUT_BREAKS = 100_000


def _yaml(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


class _Dumper(yaml.CSafeDumper):
    """Knows every kind of mapping: protobuf's JSON mapping has ordered ones in it."""


_Dumper.add_multi_representer(dict, _Dumper.represent_dict)
