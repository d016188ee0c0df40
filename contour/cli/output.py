"""How commands print: YAML or JSON for machines, tables for people on a terminal."""

import json
from typing import Any, Literal

import click
import yaml

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


def _yaml(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=100
    )
    return text
